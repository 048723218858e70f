/* SPDX-License-Identifier: MIT */
/* Processes that end in every way. */
#include "runtime/check/child.h"

#include <check.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 20000, SOON_MS = 200, LONGER_MS = 600 };

static void comes_back(void *ctx)
{
    (void)ctx;
}

static void exits_well(void *ctx)
{
    (void)ctx;
    exit(0);
}

static void exits_badly(void *ctx)
{
    (void)ctx;
    exit(90);
}

static void crashes(void *ctx)
{
    (void)ctx;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit instead */
    raise(SIGSEGV);
}

static void hangs(void *ctx)
{
    (void)ctx;
    for (;;)
        pause();
}

/* It could end, as far as a compiler sees: before what cannot, ASan looks at the stack it is on,
 * and says so if that is none it knows. */
static int sleeps_beside(void *none)
{
    while (!none)
        pause();
    return 0;
}

static void computes(void *ctx)
{
    volatile uint32_t turns = 0;
    (void)ctx;
    for (;;)
        turns++;
}

/* By vfork, so that no signal wakes it: state D, as of one that waits for a disk. */
static void waits_unwoken(void *ctx)
{
    static char stack[65536] __attribute__((aligned(16)));
    (void)ctx;
    clone(sleeps_beside, stack + sizeof stack, CLONE_VFORK | CLONE_VM | SIGCHLD, NULL);
}

/* Sleeps each time for less than anybody looks. */
static void dozes(void *ctx)
{
    struct timespec nap = { 0, 1000000 };
    (void)ctx;
    for (;;)
        nanosleep(&nap, NULL);
}

static void prints(void *ctx)
{
    (void)ctx;
    printf("an answer\n");
    fflush(stdout);
    exit(0);
}

static void waits_for_a_child(void *ctx)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LONGER_MS };
    (void)ctx;
    adp_child_run(&child, limit, hangs, NULL);
    exit(child.hung == ADP_HUNG_WAITING ? 7 : 8);
}

static void speaks(void *ctx)
{
    (void)ctx;
    printf("an answer\n");
    fflush(stdout);
    fprintf(stderr, "first\nlast words\n\n");
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
}

/* Leaves a process behind that would outlive it, and that holds ctx's pipe open. */
static void forks(void *ctx)
{
    const int *ends = ctx;
    close(ends[0]);
    if (fork() == 0)
        hangs(NULL);
}

static const struct {
    void (*work)(void *ctx);
    uint32_t limit_ms;
    enum adp_child_end end;
    bool finished;
    int number;
    const char *said, *words;
} ends[] = {
    { comes_back, LIMIT_MS, ADP_CHILD_RETURNED, true, 0, "",
      "it ended the process, with status 0" },
    { exits_well, LIMIT_MS, ADP_CHILD_RETURNED, false, 0, "",
      "it ended the process, with status 0" },
    { exits_badly, LIMIT_MS, ADP_CHILD_EXITED, false, 90, "",
      "it ended the process, with status 90" },
    { crashes, LIMIT_MS, ADP_CHILD_KILLED, false, SIGSEGV, "",
      "the process was killed by SIGSEGV" },
    { speaks, LIMIT_MS, ADP_CHILD_KILLED, false, SIGABRT, "last words",
      "the process was killed by SIGABRT" },
    { hangs, SOON_MS, ADP_CHILD_HUNG, false, SIGKILL, "",
      "it did not come back within 0.2 s of waiting" },
    { waits_unwoken, SOON_MS, ADP_CHILD_HUNG, false, SIGKILL, "",
      "it did not come back within 0.2 s of waiting" },
    { dozes, SOON_MS, ADP_CHILD_HUNG, false, SIGKILL, "",
      "it did not come back within 0.2 s of waiting" },
    { computes, SOON_MS, ADP_CHILD_HUNG, false, SIGKILL, "",
      "it did not come back within 0.2 s of computing" },
    { prints, LIMIT_MS, ADP_CHILD_RETURNED, false, 0, "an answer",
      "it ended the process, with status 0" },
    /* that one's limit is its own, and longer */
    { waits_for_a_child, SOON_MS, ADP_CHILD_EXITED, false, 7, "",
      "it ended the process, with status 7" },
};

START_TEST(however_a_child_ends_it_is_told_apart)
{
    struct adp_child child;
    char words[120];
    struct adp_child_limit limit = { .ms = ends[_i].limit_ms };
    adp_child_run(&child, limit, ends[_i].work, NULL);
    ck_assert_int_eq(child.end, ends[_i].end);
    ck_assert_int_eq(child.number, ends[_i].number);
    ck_assert(child.finished == ends[_i].finished);
    ck_assert_str_eq(child.said, ends[_i].said);
    adp_child_words(&child, ends[_i].limit_ms, words, sizeof words);
    ck_assert_str_eq(words, ends[_i].words);
}
END_TEST

START_TEST(nothing_is_left_running)
{
    struct adp_child child;
    int ends_of[2];
    char byte;
    ck_assert_int_eq(pipe(ends_of), 0);
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    adp_child_run(&child, limit, forks, ends_of);
    ck_assert(child.finished);
    close(ends_of[1]);
    /* The end of file comes once nobody holds the pipe open: else this read hangs. */
    ck_assert_int_eq(read(ends_of[0], &byte, 1), 0);
    close(ends_of[0]);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* --- exit handlers --- */

enum { OF_PARENT, OF_CHILD, N_HANDLERS };
static volatile uint32_t
    *ran; /* N_HANDLERS counts, in shared memory; NULL: not counted */

static void parents_handler(void)
{
    if (ran)
        ran[OF_PARENT]++;
}

static void childs_handler(void)
{
    ran[OF_CHILD]++;
}

static void exits_with_a_handler(void *ctx)
{
    const int *status = ctx;
    if (atexit(childs_handler) == 0)
        exit(*status);
}

/* A buffer that the parent filled, too, is the parent's to be written. */
START_TEST(an_exit_runs_no_handler_of_the_parent)
{
    static const int statuses[] = { 0, 7 };
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    int status = statuses[_i], file[2];
    char text[16];
    ran = mmap(NULL, N_HANDLERS * sizeof *ran, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *)ran, MAP_FAILED);
    ck_assert_int_eq(atexit(parents_handler), 0);
    ck_assert_int_eq(pipe(file), 0);
    FILE *to = fdopen(file[1], "w");
    ck_assert_ptr_nonnull(to);
    fprintf(to, "once");
    adp_child_run(&child, limit, exits_with_a_handler, &status);
    fclose(to);
    ck_assert_int_eq(read(file[0], text, sizeof text), 4);
    close(file[0]);
    ck_assert_int_eq(child.end, status ? ADP_CHILD_EXITED : ADP_CHILD_RETURNED);
    ck_assert_int_eq(child.number, status);
    ck_assert_uint_eq(ran[OF_CHILD], 1);
    ck_assert_uint_eq(ran[OF_PARENT], 0);
    munmap((void *)ran, N_HANDLERS * sizeof *ran);
    ran = NULL;
}
END_TEST

static volatile sig_atomic_t stop;

static void on_alarm(int signal)
{
    stop = signal;
}

START_TEST(a_signal_ends_the_waiting)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS, .stop = &stop };
    struct sigaction action = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    adp_child_run(&child, limit, hangs, NULL);
    ck_assert_int_eq(child.end, ADP_CHILD_HUNG);
    ck_assert_int_eq(stop, SIGALRM); /* and not the limit */
}
END_TEST

static void outlives_its_parent(void *ctx)
{
    (void)ctx;
    prctl(PR_SET_PDEATHSIG, 0);
    for (;;)
        pause();
}

static void waits_for_its_own(void *ctx)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    (void)ctx;
    adp_child_run(&child, limit, outlives_its_parent, NULL);
}

START_TEST(a_childs_child_goes_with_it)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS, .stop = &stop };
    struct sigaction action = { .sa_handler = on_alarm };
    int ends_of[2]; /* of a pipe that is open for writing while one of them lives */
    ck_assert_int_eq(pipe(ends_of), 0);
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    adp_child_run(&child, limit, waits_for_its_own, NULL);
    close(ends_of[1]);
    struct pollfd p = { .fd = ends_of[0], .events = POLLIN };
    ck_assert_int_eq(poll(&p, 1, 5000), 1);
    ck_assert_int_eq(p.revents, POLLHUP);
    close(ends_of[0]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("child");
    TCase *t = tcase_create("child");
    tcase_add_loop_test(t, however_a_child_ends_it_is_told_apart, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_test(t, nothing_is_left_running);
    tcase_add_loop_test(t, an_exit_runs_no_handler_of_the_parent, 0, 2);
    tcase_add_test(t, a_signal_ends_the_waiting);
    tcase_add_test(t, a_childs_child_goes_with_it);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
