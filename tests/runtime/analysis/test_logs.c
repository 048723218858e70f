/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/lines.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/page.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/adp-logs-XXXXXX";
static char command[256];
static struct adp_log_list list;

static const char *at(const char *below)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s%s%s", root, *below ? "/" : "", below);
    return path[turn];
}

static void put(const char *below, const char *text)
{
    FILE *f = fopen(at(below), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

#define DECISION(id)                                                                     \
    "{\"verdict\":\"admit\",\"policy\":\"p\",\"request_id\":\"" id "\"}\n"

static void setup(void)
{
    static const char *const folders[] = { "e",      "e/p",           "e/.venv",
                                           "e/.git", "e/__pycache__", "e/node_modules",
                                           "empty" };
    ck_assert_ptr_nonnull(mkdtemp(root));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        ck_assert_int_eq(mkdir(at(folders[i]), 0700), 0);
    put("e/p/r10.jsonl", DECISION("a"));
    put("e/p/r2.jsonl", DECISION("b"));
    put("e/p/notes.txt", "x");
    put("e/.venv/v.jsonl", DECISION("c"));
    put("e/.git/g.jsonl", DECISION("d"));
    put("e/__pycache__/c.jsonl", DECISION("e"));
    put("e/node_modules/m.jsonl", DECISION("f"));
    ck_assert_int_eq(symlink("..", at("e/p/up")), 0); /* round and round, if followed */
    ck_assert_int_eq(link(at("e/p/r2.jsonl"), at("e/p/same.jsonl")), 0);
    ck_assert_int_eq(symlink("nowhere", at("e/p/dangling.jsonl")), 0);
}

static void teardown(void)
{
    adp_logs_finish(&list);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
    memcpy(root + sizeof root - 7, "XXXXXX", 6);
}

START_TEST(a_folder_is_searched_but_for_what_is_not_ours)
{
    ck_assert_int_eq(adp_logs_find(&list, root, NULL), 0);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_str_eq(list.paths[0].path, at("e/p/r2.jsonl"));
    ck_assert_str_eq(list.paths[1].path, at("e/p/r10.jsonl"));
    ck_assert(list.paths[0].found);
}
END_TEST

START_TEST(a_file_is_read_once_however_it_is_reached)
{
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/r2.jsonl"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/same.jsonl"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/../p/r2.jsonl"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, root, NULL), 0);
    ck_assert_uint_eq(list.n, 2);
}
END_TEST

/* Named by the user, even a folder that discovery skips is searched, and any file is
 * read. */
START_TEST(what_is_named_is_taken)
{
    ck_assert_int_eq(adp_logs_find(&list, at("e/.git"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/notes.txt"), NULL), 0);
    ck_assert_uint_eq(list.n, 2);
    ck_assert(!list.paths[1].found);
}
END_TEST

START_TEST(a_folder_without_logs_is_an_error)
{
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_logs_find(&list, at("empty"), &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "holds no *.jsonl file, packed or not");
    ck_assert_str_eq(err.file, at("empty"));
}
END_TEST

START_TEST(a_folder_given_again_or_inside_another_is_no_error)
{
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    ck_assert_uint_eq(list.n, 2);
    /* … and who came upon a file last is known, though sorting moved it. */
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/r2.jsonl"), NULL), 0);
    ck_assert_uint_eq(list.paths[0].given, 4);
    ck_assert_uint_eq(list.paths[1].given, 3);
    ck_assert_int_eq(adp_logs_find(&list, at("empty"), NULL), ADP_ENOENT);
}
END_TEST

START_TEST(an_empty_path_is_named)
{
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_logs_find(&list, "", &err), ADP_ENOENT);
    ck_assert_str_eq(err.file, "\"\"");
    ck_assert_str_eq(err.text, "an empty path names no log");
}
END_TEST

/* What the list says of the path below the root; NULL: nothing. */
static const char *why_unread(const char *below)
{
    const char *why = NULL;
    for (size_t i = 0; i < list.n_unread; i++)
        if (strcmp(list.unread[i].path, at(below)) == 0) {
            ck_assert_ptr_null(why);
            why = list.unread[i].why;
        }
    return why;
}

START_TEST(what_is_found_and_cannot_be_read_is_noted_once_and_the_rest_is_read)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    ck_assert_int_eq(symlink("round.jsonl", at("e/p/round.jsonl")), 0);
    ck_assert_int_eq(symlink("..", at("e/p/folder.jsonl")), 0);
    ck_assert_int_eq(mkfifo(at("e/p/pipe.jsonl"), 0600), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    ck_assert_str_eq(why_unread("e/p/dangling.jsonl"), "a link to nothing");
    ck_assert_str_eq(why_unread("e/p/round.jsonl"), strerror(ELOOP));
    ck_assert_str_eq(why_unread("e/p/folder.jsonl"),
                     "a link to a folder: such are not followed");
    ck_assert_str_eq(why_unread("e/p/pipe.jsonl"), "a pipe, not a file");
    ck_assert_uint_eq(list.n_unread, 4);
    ck_assert_int_eq(adp_logs_any(&list, 1, NULL), 0);
    adp_tally_files(tally, &n);
    ck_assert_uint_eq(n, 2);
    adp_tally_destroy(tally);
}
END_TEST

/* root may read everything: be nobody meanwhile. */
START_TEST(a_folder_and_a_file_that_may_not_be_read_are_noted)
{
    struct adp_tally *tally = adp_tally_create();
    bool is_root = geteuid() == 0;
    ck_assert_int_eq(mkdir(at("e/closed"), 0), 0);
    ck_assert_int_eq(chmod(at("e/p/r10.jsonl"), 0), 0);
    ck_assert_int_eq(chmod(root, 0755) | chmod(at("e"), 0755) | chmod(at("e/p"), 0755),
                     0);
    ck_assert_int_eq(chmod(at("e/p/r2.jsonl"), 0644), 0);
    if (is_root)
        ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    int e = adp_logs_read(&list, 0, tally, NULL, NULL, NULL);
    if (is_root)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(at("e/closed"), 0700), 0); /* so that it can be removed */
    ck_assert_int_eq(e, 0);
    ck_assert_str_eq(why_unread("e/closed"), "Permission denied");
    ck_assert_str_eq(why_unread("e/p/r10.jsonl"), "cannot be read: Permission denied");
    adp_tally_destroy(tally);
}
END_TEST

START_TEST(it_is_an_error_when_nothing_could_be_read)
{
    struct adp_error err = { 0 };
    struct adp_tally *tally = adp_tally_create();
    ck_assert_int_eq(symlink("nowhere", at("empty/a.jsonl")), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("empty"), NULL), 0);
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    ck_assert_int_eq(adp_logs_any(&list, 1, &err), ADP_EIO);
    ck_assert_str_eq(err.file, at("empty/a.jsonl"));
    ck_assert_str_eq(err.text, "a link to nothing; nothing else is there to read");
    adp_tally_destroy(tally);
}
END_TEST

/* {"verdict":"admit","policy":"packed"} and a newline, as gzip and zstd have it. */
static const unsigned char gzipped[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56,
    0x2a, 0x4b, 0x2d, 0x4a, 0xc9, 0x4c, 0x2e, 0x51, 0xb2, 0x52, 0x4a, 0x4c,
    0xc9, 0xcd, 0x2c, 0x51, 0xd2, 0x51, 0x2a, 0xc8, 0xcf, 0xc9, 0x4c, 0xae,
    0x04, 0x0a, 0x14, 0x24, 0x26, 0x67, 0xa7, 0xa6, 0x28, 0xd5, 0x72, 0x01,
    0x00, 0x06, 0x12, 0x84, 0xc0, 0x26, 0x00, 0x00, 0x00
};
static const unsigned char zstandard[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x26, 0x31, 0x01,
                                           0x00, 0x7b, 0x22, 0x76, 0x65, 0x72, 0x64, 0x69,
                                           0x63, 0x74, 0x22, 0x3a, 0x22, 0x61, 0x64, 0x6d,
                                           0x69, 0x74, 0x22, 0x2c, 0x22, 0x70, 0x6f, 0x6c,
                                           0x69, 0x63, 0x79, 0x22, 0x3a, 0x22, 0x70, 0x61,
                                           0x63, 0x6b, 0x65, 0x64, 0x22, 0x7d, 0x0a };

/* The same behind a frame to be skipped, as pzstd has it: its size, 4, and as many bytes. */
static const unsigned char skipped[] = {
    0x5e, 0x2a, 0x4d, 0x18, 0x04, 0x00, 0x00, 0x00, 0x2f, 0x00, 0x00, 0x00,
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x26, 0x31, 0x01, 0x00, 0x7b, 0x22, 0x76,
    0x65, 0x72, 0x64, 0x69, 0x63, 0x74, 0x22, 0x3a, 0x22, 0x61, 0x64, 0x6d,
    0x69, 0x74, 0x22, 0x2c, 0x22, 0x70, 0x6f, 0x6c, 0x69, 0x63, 0x79, 0x22,
    0x3a, 0x22, 0x70, 0x61, 0x63, 0x6b, 0x65, 0x64, 0x22, 0x7d, 0x0a
};

/* Two members or frames, the second cut short by `less` bytes, then `more`. */
static const struct {
    const unsigned char *bytes;
    size_t len, less;
    const char *more;
    uint64_t decisions;
    bool damaged;
} packed[] = {
    { gzipped, sizeof gzipped, 0, "", 2, false },
    { gzipped, sizeof gzipped, 4, "", 2,
      true }, /* all is out, but not the length of it */
    { gzipped, sizeof gzipped, sizeof gzipped - 12, "", 1, true },
    { gzipped, sizeof gzipped, 0, "rubbish", 2, true },
    { zstandard, sizeof zstandard, 0, "", 2, false },
    { zstandard, sizeof zstandard, 20, "", 1, true },
    { zstandard, sizeof zstandard, 0, "rubbish", 2, true },
    { skipped, sizeof skipped, 0, "", 2, false },
    { skipped, sizeof skipped, sizeof skipped - 12, "", 1, false },
    { skipped, sizeof skipped, sizeof skipped - 11, "", 1,
      true }, /* of a frame to be skipped */
};

START_TEST(a_packed_log_is_read_and_its_damage_counted)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    FILE *f = fopen(at("e/p/r3.jsonl.gz"), "w");
    fwrite(packed[_i].bytes, 1, packed[_i].len, f);
    fwrite(packed[_i].bytes, 1, packed[_i].len - packed[_i].less, f);
    fputs(packed[_i].more, f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(adp_logs_find(&list, at("e"), NULL), 0);
    ck_assert_uint_eq(list.n, 3); /* found, by its name */
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    ck_assert_str_eq(files[1].path, at("e/p/r3.jsonl.gz"));
    ck_assert_uint_eq(files[1].decisions, packed[_i].decisions);
    ck_assert_uint_eq(files[1].corrupt[ADP_CORRUPT_PACKED].n, packed[_i].damaged);
    ck_assert_uint_eq(files[1].corrupt[ADP_CORRUPT_NOT_JSON].n, 0);
    adp_tally_destroy(tally);
}
END_TEST

START_TEST(a_pattern_stands_for_what_it_matches)
{
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/r*.jsonl"), NULL), 0);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_uint_eq(list.paths[1].given, 1);
    ck_assert(!list.paths[0].found);
    ck_assert_int_eq(adp_logs_find(&list, at("e/q*"), NULL), ADP_ENOENT);
    put("r[1].jsonl", DECISION("literal")); /* a name like a pattern is a name */
    ck_assert_int_eq(adp_logs_find(&list, at("r[1].jsonl"), NULL), 0);
    ck_assert_uint_eq(list.n, 3);
}
END_TEST

START_TEST(somebody_elses_file_is_left_after_a_few_lines)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    char text[4096] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "{\"prompt\":\"x\"}\n");
    strcat(text, DECISION("late"));
    put("e/p/data.jsonl", text);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p"), NULL), 0);
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    ck_assert_str_eq(list.paths[0].path, at("e/p/data.jsonl"));
    ck_assert(list.paths[0].foreign);
    adp_tally_files(tally, &n);
    ck_assert_uint_eq(n, 2);
    adp_tally_destroy(tally);
}
END_TEST

/* … but read whole when it was named: then its lines are corrupt lines of ours. */
START_TEST(a_named_file_is_read_whole)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    char text[4096] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "{\"prompt\":\"x\"}\n");
    strcat(text, DECISION("late"));
    put("e/p/data.jsonl", text);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/data.jsonl"), NULL), 0);
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    ck_assert_uint_eq(files[0].corrupt[ADP_CORRUPT_UNKNOWN].n, 100);
    ck_assert_uint_eq(files[0].decisions, 1);
    adp_tally_destroy(tally);
}
END_TEST

START_TEST(an_over_long_line_is_counted_and_the_next_is_read)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    FILE *f = fopen(at("e/p/long.jsonl"), "w");
    fprintf(f, "{\"verdict\":\"admit\",\"x\":\"%*s\"}\n" DECISION("after"),
            (int)ADP_LINE_MAX, "");
    fclose(f);
    ck_assert_int_eq(adp_logs_find(&list, at("e/p/long.jsonl"), NULL), 0);
    ck_assert_int_eq(adp_logs_read(&list, 0, tally, NULL, NULL, NULL), 0);
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    ck_assert_uint_eq(files[0].corrupt[ADP_CORRUPT_TOO_LONG].n, 1);
    ck_assert_uint_eq(files[0].corrupt[ADP_CORRUPT_TOO_LONG].first, 1);
    ck_assert_uint_eq(files[0].decisions, 1);
    adp_tally_destroy(tally);
}
END_TEST

/* The first of each row comes first. */
static const struct {
    const char *a, *b;
} ordered[] = { { "r2", "r10" },
                { "r1", "r2" },
                { "r9", "r10" },
                { "a", "b" },
                { "r1.jsonl", "r10.jsonl" },
                { "r1.1.jsonl", "r1.jsonl" },
                { "", "a" },
                { "r01x", "r1y" },
                { "r1", "r1a" } };

START_TEST(numbers_in_names_count_as_numbers)
{
    ck_assert_int_lt(adp_page_natural(ordered[_i].a, ordered[_i].b), 0);
    ck_assert_int_gt(adp_page_natural(ordered[_i].b, ordered[_i].a), 0);
    ck_assert_int_eq(adp_page_natural(ordered[_i].a, ordered[_i].a), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("logs");
    TCase *t = tcase_create("logs");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_folder_is_searched_but_for_what_is_not_ours);
    tcase_add_test(t, a_file_is_read_once_however_it_is_reached);
    tcase_add_test(t, what_is_named_is_taken);
    tcase_add_test(t, a_folder_without_logs_is_an_error);
    tcase_add_test(t, a_folder_given_again_or_inside_another_is_no_error);
    tcase_add_test(t, an_empty_path_is_named);
    tcase_add_test(t,
                   what_is_found_and_cannot_be_read_is_noted_once_and_the_rest_is_read);
    tcase_add_test(t, a_folder_and_a_file_that_may_not_be_read_are_noted);
    tcase_add_test(t, it_is_an_error_when_nothing_could_be_read);
    tcase_add_test(t, a_pattern_stands_for_what_it_matches);
    tcase_add_loop_test(t, a_packed_log_is_read_and_its_damage_counted, 0,
                        sizeof packed / sizeof *packed);
    tcase_add_test(t, somebody_elses_file_is_left_after_a_few_lines);
    tcase_add_test(t, a_named_file_is_read_whole);
    tcase_add_test(t, an_over_long_line_is_counted_and_the_next_is_read);
    suite_add_tcase(suite, t);
    t = tcase_create("order");
    tcase_add_loop_test(t, numbers_in_names_count_as_numbers, 0,
                        sizeof ordered / sizeof *ordered);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
