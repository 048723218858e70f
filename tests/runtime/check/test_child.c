/* SPDX-License-Identifier: MIT */
/* Processes that end in every way. */
#include "runtime/check/child.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 20000, SOON_MS = 200 };

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
      "it did not come back within 0.2 s" },
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

int main(void)
{
    Suite *s = suite_create("child");
    TCase *t = tcase_create("child");
    tcase_add_loop_test(t, however_a_child_ends_it_is_told_apart, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_test(t, nothing_is_left_running);
    tcase_add_test(t, a_signal_ends_the_waiting);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
