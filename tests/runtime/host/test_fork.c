/* SPDX-License-Identifier: MIT */
/* Fork: a runtime belongs to the process that started it. A child that inherits one is told
 * so by every call, whatever the parent's threads held at that moment; one that opens or
 * starts its own writes to the same log. */
#include "tests/runtime/host/stage.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define NOBODY "policy: { use: no_admission }\n"

/* fork() once the log thread of `running` has nothing to write: ASan, unlike glibc, lets
 * a child inherit its allocator's locks as they are, held for ever by a thread that was
 * just allocating. A child that hangs ends after `seconds` with SIGALRM, by which Check
 * would end its group. */
static pid_t fork_beside(adp_runtime *running, unsigned seconds)
{
    ck_assert_int_eq(flush_all(running), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(seconds);
    }
    return child;
}

/* What the child says: the number of the first claim that does not hold, 0 if all do. */
static int status_of(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child was ended by signal %d",
                  WTERMSIG(status));
    return WEXITSTATUS(status);
}

static double nothing(void *user)
{
    (void)user;
    return 0;
}

#define HOLDS(claim)                                                                     \
    if (!(claim))                                                                        \
    return __LINE__ % 250 + 1

static int every_call_is_refused(adp_runtime *rt, adp_lane *lane, uint64_t id)
{
    adp_error err = { 0 };
    adp_errors all = { 0 };
    adp_decision d = { 0 };
    adp_lane *another = NULL;
    adp_stats s = { .size = sizeof s, .decisions = 7 };
    adp_metric metric = { "a", NULL, 1 };
    adp_sample sample = { .id = 1 };
    adp_result done = { .size = sizeof done };
    uint32_t number = 0;
    HOLDS(adp_lane_decide(lane, NULL, &d) == ADP_ESTATE);
    HOLDS(d.admitted == 1 && d.status == 200 && d.id == 0);
    d = (adp_decision) { 0 };
    HOLDS(adp_lane_decide_with(lane, &metric, 1, NULL, &d) == ADP_ESTATE &&
          d.admitted == 1);
    HOLDS(adp_lane_outcome(lane, id, NULL, &done) == ADP_ESTATE);
    HOLDS(adp_lane_open(&another, rt, &err) == ADP_ESTATE && !another);
    HOLDS(strcmp(err.text, "the runtime was started by another process, before a fork; "
                           "open one here, or start after the fork") == 0);
    HOLDS(adp_runtime_start(rt, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_source(rt, "running", nothing, NULL, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_publish(rt, &metric, 1, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_publish_text(rt, "a 1\n", 4, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_intern(rt, "a", NULL, &number, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_publish_ids(rt, &sample, 1, NULL) == ADP_ESTATE);
    HOLDS(adp_lane_decide_ids(lane, &sample, 1, NULL, &d) == ADP_ESTATE &&
          d.admitted == 1);
    HOLDS(adp_runtime_refresh(rt, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_reload(rt, NULL, &all) == ADP_ESTATE);
    HOLDS(all.n == 1 && strstr(all.list[0].text, "before a fork"));
    HOLDS(adp_runtime_reload_text(rt, "", "t", &all) == ADP_ESTATE);
    adp_errors_free(&all);
    HOLDS(adp_runtime_reopen(rt, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_flush(rt, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_stats(rt, &s) == ADP_ESTATE && s.decisions == 0);
    HOLDS(adp_runtime_close(rt, NULL) == ADP_ESTATE);
    adp_lane_close(lane);
    return 0;
}

START_TEST(a_child_that_inherits_a_started_runtime_is_told_so_by_every_call)
{
    adp_runtime *rt = started(yaml("log", NOBODY), NULL);
    adp_lane *lane = lane_of(rt);
    uint64_t id = decide(lane, "before").id;
    pid_t child = fork_beside(rt, 20);
    if (child == 0)
        _exit(every_call_is_refused(rt, lane, id));
    ck_assert_int_eq(status_of(child), 0);
    decide(lane, "after");
    ck_assert_int_eq(settle(lane, id), 0);
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
    json_t *all = lines("log", NULL);
    ck_assert_uint_eq(json_array_size(all), 3); /* each once, none of the child's */
    json_decref(all);
}
END_TEST

static _Atomic bool stop;

static void *publish_again_and_again(void *arg)
{
    while (!atomic_load(&stop))
        adp_runtime_publish_text(arg, "a 1\n", 4, NULL);
    return NULL;
}

START_TEST(whatever_the_threads_of_the_parent_hold_the_child_does_not_wait_for_it)
{
    pthread_t thread;
    adp_runtime *rt = started(yaml("log", NOBODY), NULL);
    adp_lane *lane = lane_of(rt);
    pthread_create(&thread, NULL, publish_again_and_again, rt);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork_beside(rt, 20);
        if (child == 0)
            _exit(every_call_is_refused(rt, lane, 1));
        ck_assert_int_eq(status_of(child), 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* In a child: starts `rt`, or one of its own when that is NULL, and decides. */
static int serve(adp_runtime *rt, const char *text, unsigned who, unsigned n)
{
    adp_lane *lane = NULL;
    adp_errors wrong = { 0 };
    if (!rt)
        HOLDS(adp_runtime_open_text(&rt, text, "t", &wrong) == 0);
    HOLDS(adp_runtime_start(rt, NULL) == 0);
    HOLDS(adp_lane_open(&lane, rt, NULL) == 0);
    for (unsigned i = 0; i < n; i++) {
        char id[32];
        adp_facts facts = { .size = sizeof facts, .request_id = id };
        adp_decision d;
        snprintf(id, sizeof id, "%u-%u", who, i);
        HOLDS(adp_lane_decide(lane, &facts, &d) == 0);
    }
    adp_lane_close(lane);
    HOLDS(adp_runtime_close(rt, NULL) == 0);
    return 0;
}

START_TEST(children_that_start_after_fork_share_one_log_with_every_decision_once)
{
    enum { CHILDREN = 4, EACH = 500 };
    pid_t child[CHILDREN];
    static unsigned seen[CHILDREN][EACH];
    /* Half of them start what the parent opened, half open their own, beside one that the
     * parent has started. */
    adp_runtime *running = started(yaml("log", NOBODY), NULL);
    adp_runtime *waiting = opened(yaml("log", NOBODY), NULL);
    for (unsigned i = 0; i < CHILDREN; i++)
        if ((child[i] = fork_beside(running, 60)) == 0)
            _exit(serve(i % 2 ? waiting : NULL, yaml("log", NOBODY), i, EACH));
    for (unsigned i = 0; i < CHILDREN; i++)
        ck_assert_int_eq(status_of(child[i]), 0);
    adp_runtime_close(waiting, NULL);
    ck_assert_int_eq(adp_runtime_close(running, NULL), 0);
    json_t *all = lines("log", "verdict"), *line;
    size_t at;
    ck_assert_uint_eq(json_array_size(all), CHILDREN * EACH);
    json_array_foreach(all, at, line)
    {
        unsigned who, i;
        ck_assert_int_eq(sscanf(word(line, "request_id"), "%u-%u", &who, &i), 2);
        seen[who][i]++;
    }
    for (unsigned i = 0; i < CHILDREN * EACH; i++)
        ck_assert_uint_eq(seen[i / EACH][i % EACH], 1);
    json_decref(all);
}
END_TEST

/* What a thread of the parent is in the middle of, until it is told to go on. */
static int begun[2], go_on[2];

static void linger(void)
{
    char byte = 0;
    ck_assert_int_eq(write(begun[1], &byte, 1), 1);
    ck_assert_int_eq(read(go_on[0], &byte, 1), 1);
}

static void await_lingering(void)
{
    char byte;
    ck_assert_int_eq(read(begun[0], &byte, 1), 1);
}

static void end_lingering(pthread_t thread)
{
    char byte = 0;
    ck_assert_int_eq(write(go_on[1], &byte, 1), 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *map_lingering(void *arg)
{
    reloads(arg, yaml("log", "policy: { use: ./lingers.so }\n"));
    return NULL;
}

static int opens_files_of_policies(const char *text)
{
    adp_runtime *rt = NULL;
    HOLDS(adp_runtime_open_text(&rt, text, "t", NULL) == 0);
    HOLDS(adp_runtime_close(rt, NULL) == 0);
    return 0;
}

START_TEST(a_child_maps_policies_while_the_parent_was_mapping_one)
{
    char fds[32];
    pthread_t thread;
    adp_runtime *rt = started(yaml("log", NOBODY), NULL);
    ck_assert_int_eq(pipe(begun), 0);
    ck_assert_int_eq(pipe(go_on), 0);
    snprintf(fds, sizeof fds, "%d %d", begun[1], go_on[0]);
    setenv("ADP_TEST_LINGERS", fds, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, map_lingering, rt), 0);
    await_lingering();
    unsetenv("ADP_TEST_LINGERS");
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        int wrong = opens_files_of_policies(yaml("log", NOBODY)); /* is mapped */
        if (!wrong)
            wrong = opens_files_of_policies(
                yaml("log", "policy: { use: " TEST_POLICIES "/emptiest.so }\n"));
        _exit(wrong);
    }
    ck_assert_int_eq(status_of(child), 0);
    end_lingering(thread);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

static int linger_in_the_list(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info;
    (void)size;
    (void)arg;
    linger();
    return 1;
}

/* glibc keeps the lock of the linker's list meanwhile, and makes it anew in no child. */
static void *hold_the_list(void *arg)
{
    dl_iterate_phdr(linger_in_the_list, arg);
    return NULL;
}

START_TEST(who_maps_nothing_new_takes_no_lock_of_the_linkers)
{
    pthread_t thread;
    adp_runtime *rt = started(yaml("log", NOBODY), NULL);
    ck_assert_int_eq(pipe(begun), 0);
    ck_assert_int_eq(pipe(go_on), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_the_list, NULL), 0);
    await_lingering();
    reloads(rt, yaml("log", NOBODY));
    pid_t child = fork_beside(rt, 20);
    if (child == 0)
        _exit(opens_files_of_policies(yaml("log", NOBODY)));
    ck_assert_int_eq(status_of(child), 0);
    end_lingering(thread);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

static uint64_t lingering_clock(void *ctx)
{
    static _Atomic bool before;
    (void)ctx;
    if (!atomic_exchange(&before, true))
        linger();
    return 1;
}

static void *start_lingering(void *arg)
{
    ck_assert_int_eq(adp_runtime_start(arg, NULL), 0);
    return NULL;
}

static int is_told_that_it_is_torn(adp_runtime *rt)
{
    adp_error err = { 0 };
    uint32_t id;
    adp_stats s = { .size = sizeof s };
    HOLDS(adp_runtime_start(rt, &err) == ADP_ESTATE);
    HOLDS(strcmp(err.text,
                 "another thread was in a call of the runtime when this process "
                 "was forked; open one here") == 0);
    HOLDS(adp_runtime_intern(rt, "a", NULL, &id, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_source(rt, "running", nothing, NULL, NULL) == ADP_ESTATE);
    HOLDS(adp_runtime_stats(rt, &s) == ADP_ESTATE);
    HOLDS(adp_runtime_close(rt, NULL) == ADP_ESTATE);
    return serve(NULL, yaml("other", NOBODY), 0, 5);
}

START_TEST(a_child_cannot_use_what_a_thread_of_the_parent_was_just_starting)
{
    const struct adp_clock clock = { NULL, lingering_clock, lingering_clock,
                                     lingering_clock };
    const struct adp_host_options options = { .clock = &clock };
    pthread_t thread;
    ck_assert_int_eq(pipe(begun), 0);
    ck_assert_int_eq(pipe(go_on), 0);
    adp_runtime *rt = opened(yaml("log", NOBODY), &options);
    ck_assert_int_eq(pthread_create(&thread, NULL, start_lingering, rt), 0);
    await_lingering();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        _exit(is_told_that_it_is_torn(rt));
    }
    ck_assert_int_eq(status_of(child), 0);
    end_lingering(thread);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

static void *intern_again_and_again(void *arg)
{
    uint32_t id;
    while (!atomic_load(&stop))
        adp_runtime_intern(arg, "a", NULL, &id, NULL);
    return NULL;
}

/* 0, or the number of a claim that does not hold. */
static int starts_or_is_told(adp_runtime *rt)
{
    adp_error err = { 0 };
    int code = adp_runtime_start(rt, &err);
    if (code == 0)
        return adp_runtime_close(rt, NULL) == 0 ? 0 : 1;
    HOLDS(code == ADP_ESTATE && strstr(err.text, "another thread was in a call"));
    HOLDS(adp_runtime_close(rt, NULL) == ADP_ESTATE);
    return 0;
}

/* Whoever interns allocates (fork_beside). */
START_TEST(whatever_the_parent_did_with_an_opened_runtime_start_does_not_hang)
{
#ifdef __SANITIZE_ADDRESS__
    printf("skipped: ASan lets a child inherit its allocator's locks\n");
    return;
#endif
    pthread_t thread;
    adp_runtime *rt = opened(yaml("log", NOBODY), NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, intern_again_and_again, rt), 0);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGALRM, SIG_DFL);
            alarm(20);
            _exit(starts_or_is_told(rt));
        }
        ck_assert_int_eq(status_of(child), 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fork");
    TCase *t = tcase_create("fork");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_child_that_inherits_a_started_runtime_is_told_so_by_every_call);
    tcase_add_test(
        t, whatever_the_threads_of_the_parent_hold_the_child_does_not_wait_for_it);
    tcase_add_test(t,
                   children_that_start_after_fork_share_one_log_with_every_decision_once);
    tcase_add_test(t, a_child_maps_policies_while_the_parent_was_mapping_one);
    tcase_add_test(t, who_maps_nothing_new_takes_no_lock_of_the_linkers);
    tcase_add_test(t, a_child_cannot_use_what_a_thread_of_the_parent_was_just_starting);
    tcase_add_test(t, whatever_the_parent_did_with_an_opened_runtime_start_does_not_hang);
    suite_add_tcase(s, t);
    return run_suite(s, CK_FORK_GETENV);
}
