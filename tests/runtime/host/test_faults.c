/* SPDX-License-Identifier: MIT */
/* Whole hosts and their log: that fork, that end without closing, whose files may not grow.
 * What a failing disk does to the log itself is tests/core/test_log.c's. */
#include "tests/runtime/host/flush.h"

#include <check.h>
#include <glob.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4, EACH = 2000 };

static char folder[64], path[128];

static void setup(void)
{
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    strcpy(folder, "/tmp/adp-faults-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *configuration(const char *log_keys, const char *more)
{
    static char text[512];
    snprintf(text, sizeof text,
             "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s\"%s }\n"
             "policy: { use: kv_threshold, params: { threshold: 0.9 } }\n%s",
             path, log_keys, more);
    return text;
}

static adp_runtime *open_runtime(const char *log_keys)
{
    adp_runtime *rt = NULL;
    adp_errors errors = { 0 };
    int code = adp_runtime_open_text(&rt, configuration(log_keys, ""), "t.yaml", &errors);
    ck_assert_msg(code == 0, "%s", errors.n ? errors.list[0].text : "no error");
    adp_errors_free(&errors);
    return rt;
}

/* Without ck_ calls, for children: they must not speak on Check's pipe. */
static int decide(adp_lane *lane, unsigned child, unsigned i)
{
    char id[32];
    adp_facts facts = { .size = sizeof facts, .request_id = id };
    adp_decision d;
    snprintf(id, sizeof id, "%u-%u", child, i);
    return adp_lane_decide(lane, &facts, &d) == 0 && d.admitted ? 0 : -1;
}

static int serve(adp_runtime *rt, unsigned child)
{
    adp_lane *lane;
    static const char page[] = "vllm:kv_cache_usage_perc 0.5\n";
    if (adp_runtime_start(rt, NULL) < 0 || adp_lane_open(&lane, rt, NULL) < 0 ||
        adp_runtime_publish_text(rt, page, sizeof page - 1, NULL) < 0)
        return -1;
    for (unsigned i = 0; i < EACH; i++)
        if (decide(lane, child, i) < 0 || (i % 100 == 0 && flush_all(rt) < 0))
            return -1;
    adp_lane_close(lane);
    return adp_runtime_close(rt, NULL);
}

static void wait_for(pid_t child, int want)
{
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == want, "the child ended with %#x", status);
}

/* The times each request is in a file. Every line must be one of JSON, and of no loss. */
static uint8_t there[CHILDREN][EACH];

static uint64_t read_log(const char *name)
{
    static char line[1 << 16];
    uint64_t n = 0;
    FILE *f = fopen(name, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        unsigned child, i;
        json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(j != NULL, "%s: %s", name, line);
        ck_assert_ptr_null(json_object_get(j, "dropped"));
        if (json_object_get(j, "verdict")) {
            const char *id = json_string_value(json_object_get(j, "request_id"));
            ck_assert_int_eq(sscanf(id, "%u-%u", &child, &i), 2);
            there[child][i]++;
            n++;
        }
        json_decref(j);
    }
    fclose(f);
    return n;
}

static const char *const logs[] = { "", ", rotate: 200KiB, keep: 1000" };

START_TEST(of_a_server_that_forks_every_decision_of_every_child_is_there_once)
{
    adp_runtime *rt = open_runtime(logs[_i]);
    pid_t child[CHILDREN];
    fflush(NULL);
    for (unsigned c = 0; c < CHILDREN; c++) {
        child[c] = fork();
        if (child[c] == 0)
            _exit(serve(rt, c) == 0 ? 0 : 1);
    }
    for (unsigned c = 0; c < CHILDREN; c++)
        wait_for(child[c], 0);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0); /* it never started */
    read_log(path);
    char pattern[160];
    glob_t rotated;
    snprintf(pattern, sizeof pattern, "%s/log.*.jsonl", folder);
    glob(pattern, 0, NULL, &rotated);
    for (size_t i = 0; i < rotated.gl_pathc; i++)
        read_log(rotated.gl_pathv[i]);
    ck_assert(_i == 0 ? rotated.gl_pathc == 0 : rotated.gl_pathc > 10);
    globfree(&rotated);
    for (unsigned c = 0; c < CHILDREN; c++)
        for (unsigned i = 0; i < EACH; i++)
            ck_assert_msg(there[c][i] == 1, "%u-%u is there %u times", c, i, there[c][i]);
}
END_TEST

/* Ends in one of the ways that close nothing, once the counts say all is written: so they
 * tell the truth, and nothing that is written needs a close to stay. */
static void end_without_close(adp_runtime *rt, int way)
{
    adp_lane *lane;
    adp_stats stats = { .size = sizeof stats };
    if (adp_runtime_start(rt, NULL) < 0 || adp_lane_open(&lane, rt, NULL) < 0)
        _exit(1);
    for (unsigned i = 0; i < EACH; i++)
        if (decide(lane, 0, i) < 0)
            _exit(1);
    while (stats.lines + stats.dropped < EACH) {
        sched_yield();
        adp_runtime_stats(rt, &stats);
    }
    if (way == 0)
        exit(0);
    if (way == 1)
        _exit(0);
    kill(getpid(), SIGKILL);
}

START_TEST(a_host_that_ends_without_closing_keeps_what_was_counted_as_written)
{
    adp_runtime *rt = open_runtime("");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        end_without_close(rt, _i);
    wait_for(child, _i == 2 ? SIGKILL : 0);
    ck_assert_uint_eq(read_log(path), EACH);
    adp_runtime_close(rt, NULL);
}
END_TEST

static void outgrow(adp_runtime *rt)
{
    adp_lane *lane;
    adp_stats stats = { .size = sizeof stats };
    struct rlimit limit = { 20000, RLIM_INFINITY };
    if (adp_runtime_start(rt, NULL) < 0 || adp_lane_open(&lane, rt, NULL) < 0 ||
        setrlimit(RLIMIT_FSIZE, &limit) < 0)
        _exit(1);
    for (unsigned i = 0; i < EACH; i++)
        if (decide(lane, 0, i) < 0)
            _exit(1);
    while (stats.write_errors < 3) {
        sched_yield();
        adp_runtime_stats(rt, &stats);
    }
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    adp_lane_close(lane);
    _exit(adp_runtime_close(rt, NULL) == 0 ? 0 : 2);
}

/* SIGXFSZ has its default disposition here: it would end the process. */
START_TEST(a_host_whose_files_may_not_grow_goes_on_and_lives)
{
    adp_runtime *rt = open_runtime("");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        outgrow(rt);
    wait_for(child, 0);
    ck_assert_uint_eq(read_log(path), EACH);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* 0, or the number of the claim that does not hold. */
static int reload_beyond_the_limit(adp_runtime *rt)
{
    adp_lane *lane;
    adp_errors errors = { 0 };
    struct rlimit limit = { 1000, RLIM_INFINITY };
    if (adp_runtime_start(rt, NULL) < 0 || adp_lane_open(&lane, rt, NULL) < 0 ||
        setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    /* One that is not loaded yet. */
    const char *more = configuration("", "shadow: [ { use: no_admission } ]\n");
    if (adp_runtime_reload_text(rt, more, "t.yaml", &errors) != ADP_EIO)
        return 2;
    if (errors.n != 1 || !strstr(errors.list[0].text, "File too large"))
        return 3;
    if (decide(lane, 0, 0) < 0)
        return 4;
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    adp_lane_close(lane);
    return adp_runtime_close(rt, NULL) == 0 ? 0 : 5;
}

START_TEST(a_policy_that_may_not_be_copied_keeps_the_old_configuration_and_the_host)
{
    adp_runtime *rt = open_runtime("");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(reload_beyond_the_limit(rt));
    wait_for(child, 0);
    ck_assert_uint_eq(read_log(path), 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_fifo_that_nobody_reads_is_an_error_at_start)
{
    adp_error err = { 0 };
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    adp_runtime *rt = open_runtime("");
    ck_assert_int_lt(adp_runtime_start(rt, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    adp_runtime_close(rt, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("faults");
    TCase *t = tcase_create("faults");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(
        t, of_a_server_that_forks_every_decision_of_every_child_is_there_once, 0,
        sizeof logs / sizeof logs[0]);
    tcase_add_loop_test(
        t, a_host_that_ends_without_closing_keeps_what_was_counted_as_written, 0, 3);
    tcase_add_test(t, a_host_whose_files_may_not_grow_goes_on_and_lives);
    tcase_add_test(
        t, a_policy_that_may_not_be_copied_keeps_the_old_configuration_and_the_host);
    tcase_add_test(t, a_fifo_that_nobody_reads_is_an_error_at_start);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
