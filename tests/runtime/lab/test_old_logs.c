/* SPDX-License-Identifier: MIT */
#include "runtime/lab/old_logs.h"

#include <check.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char out[64];
static const char *const policies[] = { "one", "two", NULL };

static const char *path(const char *name)
{
    static char text[256];
    snprintf(text, sizeof text, "%s/%s", out, name);
    return text;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(path(name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static bool there(const char *name)
{
    struct stat st;
    return lstat(path(name), &st) == 0;
}

static void set_up(void)
{
    snprintf(out, sizeof out, "/tmp/admitperf-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(out));
    ck_assert_int_eq(mkdir(path("demo"), 0700), 0);
    ck_assert_int_eq(mkdir(path("demo/one"), 0700), 0);
    ck_assert_int_eq(mkdir(path("demo/two"), 0700), 0);
    ck_assert_int_eq(mkdir(path("demo/three"), 0700), 0);
    write_file("demo/one/r1.jsonl", "{\"at\":1,\"experiment\":\"demo\"}\n{\"at\":2}\n");
    write_file("demo/two/r12.jsonl", "{\"experiment\":\"demo\"}");
}

static int remove_all(const char *from, struct adp_error *err)
{
    const struct adp_old_logs old = { .out = from,
                                      .experiment = "demo",
                                      .policies = policies };
    return adp_old_logs_remove(&old, 0, err);
}

static int erase(const char *name, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(name);
}

static void tear_down(void)
{
    nftw(out, erase, 8, FTW_DEPTH | FTW_PHYS);
}

START_TEST(logs_of_the_experiment_are_removed)
{
    write_file("demo/two/r2.jsonl", ""); /* holds nothing */
    ck_assert_int_eq(remove_all(out, NULL), 0);
    ck_assert(!there("demo/one/r1.jsonl"));
    ck_assert(!there("demo/two/r12.jsonl"));
    ck_assert(!there("demo/two/r2.jsonl"));
    ck_assert(there("demo/one"));
}
END_TEST

static const char *const others[] = {
    "demo/one/r.jsonl",    "demo/one/r1.json",  "demo/one/x1.jsonl",
    "demo/one/r1x.jsonl",  "demo/one/notes.md", "demo/one/1.jsonl",
    "demo/one/r1.jsonl.1", "demo/one/R1.jsonl", "demo/r1.jsonl",
    "demo/three/r1.jsonl",
};

START_TEST(nothing_of_another_name_or_folder_is_touched)
{
    write_file(others[_i], "{\"experiment\":\"demo\"}\n");
    ck_assert_int_eq(remove_all(out, NULL), 0);
    ck_assert(there(others[_i]));
}
END_TEST

static const struct {
    const char *text, *what;
} foreign[] = {
    { "{\"experiment\":\"kv-wall\"}\n", "is a log of experiment \"kv-wall\"" },
    { "{\"experiment\":\"demos\"}\n", "is a log of experiment \"demos\"" },
    { "{\"experiment\":null}\n", "is not a log of a known experiment" },
    { "{\"at\":1}\n{\"experiment\":\"demo\"}\n", "is not a log of a known experiment" },
    { "[\"experiment\",\"demo\"]\n", "is not a log of a known experiment" },
    { "\n{\"experiment\":\"demo\"}\n", "is not a log of a known experiment" },
    { "{\"experiment\":\"demo\"", "is not a log of a known experiment" },
    { "a letter\n", "is not a log of a known experiment" },
};

START_TEST(one_foreign_log_keeps_all)
{
    struct adp_error e = { 0 };
    char text[512];
    write_file("demo/two/r3.jsonl", foreign[_i].text);
    ck_assert_int_eq(remove_all(out, &e), ADP_EINVAL);
    ck_assert_str_eq(e.file, path("demo/two/r3.jsonl"));
    snprintf(text, sizeof text,
             "%s, so it is not replaced: expected a log of experiment \"demo\"; move it "
             "away or write to another folder",
             foreign[_i].what);
    ck_assert_str_eq(e.text, text);
    ck_assert(there("demo/one/r1.jsonl"));
    ck_assert(there("demo/two/r3.jsonl"));
    ck_assert(there("demo/two/r12.jsonl"));
}
END_TEST

START_TEST(what_is_no_regular_file_keeps_all)
{
    struct adp_error e = { 0 };
    if (_i == 0)
        ck_assert_int_eq(mkdir(path("demo/two/r3.jsonl"), 0700), 0);
    if (_i == 1)
        ck_assert_int_eq(mkfifo(path("demo/two/r3.jsonl"), 0600), 0);
    if (_i == 2)
        ck_assert_int_eq(symlink("../one/r1.jsonl", path("demo/two/r3.jsonl")), 0);
    ck_assert_int_eq(remove_all(out, &e), ADP_EINVAL);
    ck_assert_msg(strncmp(e.text, "is not a regular file", 21) == 0, "%s", e.text);
    ck_assert(there("demo/one/r1.jsonl"));
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_fine)
{
    ck_assert_int_eq(remove_all(path("nowhere"), NULL), 0);
}
END_TEST

START_TEST(a_path_too_long_is_refused)
{
    static char longer[5000];
    struct adp_error e = { 0 };
    memset(longer, 'x', sizeof longer - 1);
    ck_assert_int_eq(remove_all(longer, &e), ADP_EINVAL);
    ck_assert_str_eq(e.text, "path is too long");
}
END_TEST

/* demo/one/r1.jsonl has no notes. */
START_TEST(with_notes_only_what_bears_them_is_removed)
{
    struct adp_error e = { 0 };
    const char *const two[] = { "two", NULL };
    struct adp_old_logs old = {
        .out = out, .experiment = "demo", .policies = policies, .notes = "again "
    };
    write_file("demo/two/r12.jsonl", "{\"experiment\":\"demo\",\"notes\":\"again 1\"}\n");
    ck_assert_int_eq(adp_old_logs_remove(&old, 0, &e), ADP_EINVAL);
    ck_assert_str_eq(e.file, path("demo/one/r1.jsonl"));
    ck_assert_str_eq(e.text, "is no replay, so it is not replaced: expected a replay of "
                             "experiment \"demo\"; move it away or write to another "
                             "folder");
    ck_assert(there("demo/two/r12.jsonl"));
    old.policies = two;
    ck_assert_int_eq(adp_old_logs_remove(&old, 0, NULL), 0);
    ck_assert(!there("demo/two/r12.jsonl"));
    ck_assert(there("demo/one/r1.jsonl"));
}
END_TEST

/* By its name, by a link to it, as another name of the same file. */
START_TEST(what_is_to_be_read_keeps_all)
{
    struct adp_error e = { 0 };
    char input[256];
    const char *const inputs[] = { input };
    const struct adp_old_logs old = { .out = out,
                                      .experiment = "demo",
                                      .policies = policies,
                                      .inputs = inputs,
                                      .n_inputs = 1 };
    snprintf(input, sizeof input, "%s", path(_i ? "input" : "demo/two/r12.jsonl"));
    if (_i == 1)
        ck_assert_int_eq(symlink("demo/two/r12.jsonl", input), 0);
    if (_i == 2)
        ck_assert_int_eq(link(path("demo/two/r12.jsonl"), input), 0);
    ck_assert_int_eq(adp_old_logs_remove(&old, 0, &e), ADP_EINVAL);
    ck_assert_msg(strncmp(e.text, "is a log that is to be read", 27) == 0, "%s", e.text);
    ck_assert(there("demo/one/r1.jsonl"));
    ck_assert(there("demo/two/r12.jsonl"));
}
END_TEST

START_TEST(the_first_so_many_are_kept)
{
    const struct adp_old_logs old = { .out = out,
                                      .experiment = "demo",
                                      .policies = policies };
    write_file("demo/one/r2.jsonl", "");
    write_file("demo/one/r02.jsonl", "");
    write_file("demo/one/r3.jsonl", "");
    write_file("demo/one/r0.jsonl", "");
    ck_assert_int_eq(adp_old_logs_remove(&old, 2, NULL), 0);
    ck_assert(there("demo/one/r1.jsonl"));
    ck_assert(there("demo/one/r2.jsonl"));
    ck_assert(!there("demo/one/r02.jsonl"));
    ck_assert(!there("demo/one/r3.jsonl"));
    ck_assert(!there("demo/one/r0.jsonl"));
    ck_assert(!there("demo/two/r12.jsonl"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("old_logs");
    TCase *t = tcase_create("old_logs");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, logs_of_the_experiment_are_removed);
    tcase_add_loop_test(t, nothing_of_another_name_or_folder_is_touched, 0,
                        sizeof others / sizeof others[0]);
    tcase_add_loop_test(t, one_foreign_log_keeps_all, 0,
                        sizeof foreign / sizeof foreign[0]);
    tcase_add_loop_test(t, what_is_no_regular_file_keeps_all, 0, 3);
    tcase_add_test(t, with_notes_only_what_bears_them_is_removed);
    tcase_add_loop_test(t, what_is_to_be_read_keeps_all, 0, 3);
    tcase_add_test(t, the_first_so_many_are_kept);
    tcase_add_test(t, a_folder_that_is_not_there_is_fine);
    tcase_add_test(t, a_path_too_long_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
