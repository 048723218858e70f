/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/lines.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *file;
static struct adp_lines *lines;
static struct adp_raw_line line;

/* A file of the pieces, each repeated; ended by a piece without text. */
struct piece {
    const char *text;
    size_t times;
};

static void open_file(const struct piece *pieces)
{
    file = tmpfile();
    ck_assert_ptr_nonnull(file);
    for (; pieces->text; pieces++)
        for (size_t i = 0; i < pieces->times; i++)
            fputs(pieces->text, file);
    fflush(file);
    rewind(file);
    lines = adp_lines_create(fileno(file));
    ck_assert_ptr_nonnull(lines);
}

static void close_file(void)
{
    adp_lines_destroy(lines);
    fclose(file);
}

static int next(void)
{
    return adp_lines_next(lines, &line, NULL);
}

static void check_line(const char *text, uint64_t number, uint64_t offset,
                       bool terminated)
{
    ck_assert_int_eq(next(), 1);
    ck_assert_uint_eq(line.len, strlen(text));
    ck_assert_int_eq(memcmp(line.text, text, line.len), 0);
    ck_assert_uint_eq(line.number, number);
    ck_assert_uint_eq(line.offset, offset);
    ck_assert_int_eq(line.unterminated, !terminated);
    ck_assert(!line.too_long);
}

START_TEST(lines_come_with_number_and_offset)
{
    open_file((struct piece[]) { { "one\n\nthree\nlast", 1 }, { 0 } });
    check_line("one", 1, 0, true);
    check_line("", 2, 4, true);
    check_line("three", 3, 5, true);
    check_line("last", 4, 11, false);
    ck_assert_int_eq(next(), 0);
    close_file();
}
END_TEST

START_TEST(an_empty_file_has_no_line)
{
    open_file((struct piece[]) { { 0 } });
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(next(), 0);
    close_file();
}
END_TEST

START_TEST(the_longest_line_is_the_longest_of_a_log)
{
    open_file((struct piece[]) { { "a", ADP_LINE_MAX },
                                 { "\n", 1 },
                                 { "b", ADP_LINE_MAX + 1 },
                                 { "\nc\n", 1 },
                                 { 0 } });
    ck_assert_int_eq(next(), 1);
    ck_assert_uint_eq(line.len, ADP_LINE_MAX);
    ck_assert(!line.too_long);
    ck_assert_int_eq(next(), 1);
    ck_assert(line.too_long);
    ck_assert_uint_eq(line.number, 2);
    ck_assert_uint_eq(line.offset, ADP_LINE_MAX + 1);
    check_line("c", 3, 2 * (uint64_t)ADP_LINE_MAX + 3, true);
    ck_assert_int_eq(next(), 0);
    close_file();
}
END_TEST

START_TEST(a_line_far_too_long_is_passed_over)
{
    open_file((struct piece[]) { { "0123456789abcdef", 1600000 }, /* 25.6 MB */
                                 { "\nafter\n", 1 },
                                 { "0123456789abcdef", 400000 }, /* 6.4 MB, no end */
                                 { 0 } });
    ck_assert_int_eq(next(), 1);
    ck_assert(line.too_long && !line.unterminated);
    ck_assert_uint_eq(line.offset, 0);
    check_line("after", 2, 25600001, true);
    ck_assert_int_eq(next(), 1);
    ck_assert(line.too_long && line.unterminated);
    ck_assert_int_eq(next(), 0);
    close_file();
}
END_TEST

START_TEST(many_lines_across_reads_stay_whole)
{
    char expected[16];
    file = tmpfile();
    for (int i = 0; i < 100000; i++)
        fprintf(file, "line %d\n", i);
    fflush(file);
    rewind(file);
    lines = adp_lines_create(fileno(file));
    for (int i = 0; i < 100000; i++) {
        ck_assert_int_eq(next(), 1);
        snprintf(expected, sizeof expected, "line %d", i);
        if (line.len != strlen(expected) || memcmp(line.text, expected, line.len) != 0)
            ck_abort_msg("line %d is \"%.*s\"", i, (int)line.len, line.text);
    }
    ck_assert_int_eq(next(), 0);
    close_file();
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
    struct adp_error err = { 0 };
    lines = adp_lines_create(-1);
    ck_assert_int_eq(adp_lines_next(lines, &line, &err), ADP_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be read: "));
    adp_lines_destroy(lines);
}
END_TEST

/* Cut in two at every byte, and into slices of three bytes: each line comes once, in its
 * slice, with its place in the file. */
START_TEST(slices_that_meet_give_every_line_once)
{
    static const char text[] = "one\n\nthree\n\n\nlast";
    static const size_t starts[] = { 0, 4, 5, 11, 12, 13 };
    open_file((struct piece[]) { { text, 1 }, { 0 } });
    for (uint64_t step = 1; step <= sizeof text; step++) {
        size_t found = 0;
        for (uint64_t from = 0; from < sizeof text; from += step) {
            adp_lines_destroy(lines);
            lines = adp_lines_create_slice(fileno(file), from, from + step);
            for (uint64_t number = 1; next() > 0; number++, found++) {
                ck_assert_uint_lt(found, 6);
                ck_assert_uint_eq(line.offset, starts[found]);
                ck_assert_uint_eq(line.number, number);
                ck_assert(line.offset >= from && line.offset < from + step);
                ck_assert_int_eq(line.unterminated, found == 5);
            }
        }
        ck_assert_uint_eq(found, 6);
    }
    close_file();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lines");
    TCase *t = tcase_create("lines");
    tcase_add_test(t, lines_come_with_number_and_offset);
    tcase_add_test(t, an_empty_file_has_no_line);
    tcase_add_test(t, the_longest_line_is_the_longest_of_a_log);
    tcase_add_test(t, a_line_far_too_long_is_passed_over);
    tcase_add_test(t, many_lines_across_reads_stay_whole);
    tcase_add_test(t, what_cannot_be_read_is_an_error);
    tcase_add_test(t, slices_that_meet_give_every_line_once);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
