/* SPDX-License-Identifier: MIT */
#include "tests/core/stage.h"

#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct stage stage;
static char folder[64];
static char path[128];

static void admits(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static const struct adp_policy policy = { ADP_HEAD, .name = "admits",
                                          .threading = ADP_CONCURRENT, .decide = admits };

static void setup(void)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    stage_open(&stage, policies, 1 << 20, 16);
    strcpy(folder, "/tmp/adp-log-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/e/p/r1.jsonl", folder);
}

static void teardown(void)
{
    char command[128];
    stage_close(&stage);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct adp_log *open_log(const char *file, uint64_t rotate, uint32_t keep)
{
    struct adp_log *log = NULL;
    struct adp_log_options options = {
        .path = file, .rotate_bytes = rotate, .keep = keep, .clock = &stage.clock
    };
    struct adp_error err = { 0 };
    int code = adp_log_open_take(&log, &options, stage.drain, &err);
    ck_assert_msg(code == 0, "%s", err.text);
    stage.drain = NULL;
    return log;
}

/* Lines with `key` in a file; every line must parse. */
static size_t count(const char *file, const char *key, json_t **ret_first)
{
    static char line[1 << 20];
    size_t n = 0, all = 0;
    FILE *f = fopen(file, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(j);
        n += json_object_get(j, key) != NULL;
        if (ret_first && all++ == 0)
            *ret_first = json_incref(j);
        json_decref(j);
    }
    fclose(f);
    return n;
}

START_TEST(closing_writes_everything)
{
    struct adp_log *log = open_log(path, 0, 0);
    for (int i = 0; i < 500; i++)
        stage_decide(&stage, "r");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 500);
}
END_TEST

START_TEST(the_thread_writes_while_we_decide_and_nothing_is_lost)
{
    struct adp_log *log = open_log(path, 0, 0);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        stage_decide(&stage, "r");
        if (i % 500 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 20000);
    ck_assert_uint_eq(adp_region_ring(stage.region, 1)->dropped, 0);
}
END_TEST

START_TEST(rotation_keeps_every_line_and_starts_each_file_with_the_snapshot_in_force)
{
    struct adp_log *log = open_log(path, 20000, 100);
    stage_publish(&stage, 0.5, 3);
    for (int i = 0; i < 600; i++) {
        stage_decide(&stage, "r");
        if (i % 20 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    size_t lines = count(path, "verdict", NULL), files = 1;
    for (;; files++) {
        char name[160];
        json_t *first = NULL;
        snprintf(name, sizeof name, "%s/e/p/r1.%zu.jsonl", folder, files);
        if (access(name, F_OK) < 0)
            break;
        lines += count(name, "verdict", &first);
        ck_assert_ptr_null(json_object_get(first, "verdict"));
        ck_assert_int_eq(json_integer_value(json_object_get(first, "snapshot")), 1);
        json_decref(first);
    }
    ck_assert_uint_gt(files, 3);
    ck_assert_uint_eq(lines, 600);
}
END_TEST

START_TEST(keep_bounds_the_rotated_files)
{
    struct adp_log *log = open_log(path, 5000, 2);
    for (int i = 0; i < 400; i++) {
        stage_decide(&stage, "r");
        if (i % 10 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    char name[160];
    snprintf(name, sizeof name, "%s/e/p/r1.2.jsonl", folder);
    ck_assert_int_eq(access(name, F_OK), 0);
    snprintf(name, sizeof name, "%s/e/p/r1.3.jsonl", folder);
    ck_assert_int_eq(access(name, F_OK), -1);
}
END_TEST

/* What becomes of the file between two lines, and where the lines that follow must be. */
static void move_file(void)
{
    char moved[160];
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
}

static void remove_file(void)
{
    ck_assert_int_eq(unlink(path), 0);
}

static void remove_folder(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s/e'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void replace_file(void)
{
    move_file();
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
}

static void (*const happens[])(void) = { move_file, remove_file, remove_folder,
                                         replace_file };

START_TEST(a_file_that_is_moved_removed_or_replaced_is_followed)
{
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    happens[_i]();
    stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    stage_decide(&stage, "c");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    json_t *first = NULL;
    ck_assert_uint_eq(count(path, "verdict", &first), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "snapshot")), 1);
    ck_assert_ptr_null(json_object_get(first, "verdict"));
    json_decref(first);
}
END_TEST

START_TEST(reopen_starts_the_file_at_the_path_anew)
{
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    adp_log_reopen(log);
    stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    /* The snapshot's own line, and once more where the file was opened again. */
    ck_assert_uint_eq(count(path, "mono_ns", NULL), 4);
}
END_TEST

/* Without ck_ calls: Check's own messages go through a file that the limit would hit. */
static unsigned decide_admitted(unsigned n)
{
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r" };
    struct adp_decision d;
    unsigned admitted = 0;
    for (unsigned i = 0; i < n; i++) {
        adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
        admitted += d.admitted;
    }
    return admitted;
}

/* RLIMIT_FSIZE stands for the full disk: writes past it fail with EFBIG, after a partial
 * one, in the middle of a line. */
static int limit_files(rlim_t bytes)
{
    struct rlimit limit = { bytes, RLIM_INFINITY };
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(a_disk_that_was_full_loses_nothing_that_the_ring_could_hold)
{
    struct adp_log *log = open_log(path, 0, 0);
    int limited = limit_files(10000);
    int started = adp_log_start(log, NULL);
    unsigned admitted = decide_admitted(200);
    while (limited == 0 && started == 0 && adp_log_counts(log).write_errors == 0)
        sched_yield();
    limit_files(RLIM_INFINITY);
    ck_assert(limited == 0 && started == 0);
    ck_assert_uint_eq(admitted, 200);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 200);
    ck_assert_uint_eq(count(path, "dropped", NULL), 0);
}
END_TEST

START_TEST(a_disk_that_stays_full_is_an_error_at_close_not_before)
{
    struct adp_error err = { 0 };
    struct adp_log *log = open_log(path, 0, 0);
    int limited = limit_files(1500);
    unsigned admitted = decide_admitted(10);
    int closed = adp_log_close(log, &err);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(limited, 0);
    ck_assert_uint_eq(admitted, 10);
    ck_assert_int_eq(closed, ADP_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "are lost"));
    ck_assert_ptr_nonnull(strstr(err.text, "r1.jsonl"));
    count(path, "verdict", NULL); /* what is there is whole lines */
}
END_TEST

START_TEST(a_fifo_nobody_reads_is_refused_not_waited_for)
{
    char fifo[160];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    struct adp_log *log = NULL;
    struct adp_log_options options = { .path = fifo, .clock = &stage.clock };
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_log_open_take(&log, &options, stage.drain, &err), ADP_EIO);
    stage.drain = NULL;
    ck_assert_ptr_nonnull(strstr(err.text, fifo));
}
END_TEST

/* Without ck_ calls: the child must not speak on Check's pipe. */
static int decide_and_log(const char *id)
{
    struct adp_log *log;
    struct adp_log_options options = { .path = path, .clock = &stage.clock };
    struct adp_facts facts = { .size = sizeof facts, .request_id = id };
    struct adp_decision d;
    if (adp_log_open_take(&log, &options, stage.drain, NULL) < 0)
        return -1;
    for (int i = 0; i < 300; i++) {
        adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
        if (i % 7 == 0)
            adp_log_flush(log, NULL);
    }
    return adp_log_close(log, NULL);
}

START_TEST(two_writers_on_one_file_keep_whole_lines)
{
    pid_t child = fork();
    if (child == 0)
        _exit(decide_and_log("child") == 0 ? 0 : 1);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(decide_and_log("parent"), 0);
    stage.drain = NULL;
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 600);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("log");
    TCase *t = tcase_create("log");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, closing_writes_everything);
    tcase_add_test(t, the_thread_writes_while_we_decide_and_nothing_is_lost);
    tcase_add_test(
        t, rotation_keeps_every_line_and_starts_each_file_with_the_snapshot_in_force);
    tcase_add_test(t, keep_bounds_the_rotated_files);
    tcase_add_loop_test(t, a_file_that_is_moved_removed_or_replaced_is_followed, 0,
                        sizeof happens / sizeof happens[0]);
    tcase_add_test(t, reopen_starts_the_file_at_the_path_anew);
    tcase_add_test(t, a_disk_that_was_full_loses_nothing_that_the_ring_could_hold);
    tcase_add_test(t, a_disk_that_stays_full_is_an_error_at_close_not_before);
    tcase_add_test(t, a_fifo_nobody_reads_is_refused_not_waited_for);
    tcase_add_test(t, two_writers_on_one_file_keep_whole_lines);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
