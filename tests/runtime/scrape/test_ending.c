/* SPDX-License-Identifier: MIT */
#include "runtime/scrape/ending.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *page, *read;
    uint32_t lines;
} pages[] = {
    { "", "", 0 },
    { "a 1\n", "a 1\n", 0 },
    { "a 1\n# EOF", "a 1\n# EOF", 0 },
    { "a 1\n# EOF\r", "a 1\n# EOF\r", 0 },
    { "a 1\n  ", "a 1\n  ", 0 },
    { "a 1\n# HELP b of", "a 1\n", 0 },
    { "a 1\nb 12", "a 1\n", 1 },
    { "a 1", "", 1 },
    /* the rest of a family says as little as its last line */
    { "a 1\nb{e=\"0\"} 5\nb{e=\"1\"} 1", "a 1\n", 2 },
    { "a 1\nb{e=\"0\"} 5\n\nb{e=\"1", "a 1\n", 2 },
    { "a 1\nb_bucket{le=\"1\"} 2\nb_bucket{le=\"+Inf\"} 3\nb_su", "a 1\n", 3 },
    { "a 1\nb_bucket{le=\"1\"} 2\nb_sum 4\nb_count 3", "a 1\n", 3 },
    { "a 1\nb_total 2\nb_created 1", "a 1\n", 2 },
    { "a 1\n{\"b.c_sum\",e=\"0\"} 5\n{\"b.c_count\",e=\"0\"} 5", "a 1\n", 2 },
    /* a name that is whole is no start of another */
    { "a 1\nbc 5\nb 1", "a 1\nbc 5\n", 1 },
    { "a 1\nbc 5\nb", "a 1\n", 2 },
    { "a 1\nx.b{} 5\n{\"x.b\",e=\"1\"} 1", "a 1\n", 2 },
    { "a 1\n{e=\"0\",\"b\"} 5\nb 1", "a 1\n", 2 },
    { "a 1\n{\"l\"=\"a\",\"b\"} 5\nb 1", "a 1\n", 2 },
    { "a 1\n{\"b,}\"} 5\n{\"b,}\"} 1", "a 1\n", 2 },
    { "a 1\n{\"b\\\"\"} 5\n{\"b\\\"\"} 1", "a 1\n", 2 },
    /* wherever they stand, and behind headers: w of both engines stays */
    { "w{e=\"0\"} 5\nr{e=\"0\"} 3\nw{e=\"1\"} 40\nr{e=\"1\"} 3",
      "w{e=\"0\"} 5\n          \nw{e=\"1\"} 40\n", 2 },
    { "r 3\n# HELP w of\nw 5\nr 3", "", 3 }, /* w may have more as well: see below */
    { "w 5\nr 3\n# HELP w of\nw 5\nr 3", "w 5\n   \n# HELP w of\nw 5\n", 2 },
    { "w 5\r\nr 3\r\nw 5\r\nr 3", "w 5\r\n    \nw 5\r\n", 2 },
    { "w 5\n{\"r\"} 3\nw 5\nr 3", "w 5\n       \nw 5\n", 2 },
    { "w 5\nr_bucket{le=\"1\"} 3\nr_sum 3\nw 5\nr_cou",
      "w 5\n                  \n       \nw 5\n", 3 },
    /* of k the last engine's line has not come: it would follow on r's */
    { "w 5\nr 3\nk 1\nw 5\nr 3", "w 5\n   \n   \nw 5\n", 3 },
    { "w 5\nr 3\nk 1\nw 5\nr", "w 5\n   \n   \nw 5\n", 3 },
    /* but where only a relative of another name stands above nothing follows from it */
    { "r_total 3\nk 1\nr_created 3", "         \nk 1\n", 2 },
    /* a header that comes again is about lines that have not come */
    { "w 5\nr 3\nx 1\n# TYPE w gauge", "", 3 },
    { "r 3\nw 5\n# TYPE w gauge", "r 3\n", 1 },
    { "r 3\nw 5\n# TYPE w", "r 3\n", 1 },
    { "w 5\n# HEL", "w 5\n", 0 },
    { "w 5\n# w 6", "w 5\n", 0 },
    /* a name that was cut is what the header in front of it says */
    { "ra 1\n# TYPE rb gauge\nr", "ra 1\n# TYPE rb gauge\n", 1 },
    { "ra 1\n# TYPE rb gauge\nrb 4\nr", "", 2 },
    /* nothing is left but a header */
    { "# TYPE a gauge\na 1", "", 1 },
    { "a 1\n# TYPE a gauge\na 1", "", 1 },
    /* no page at all: whoever reads it says what it is */
    { "{\"a\":1}", "{\"a\":1}", 0 },
    { "[]", "[]", 0 },
    { " <p>\n<p>", " <p>\n<p>", 0 },
    { "\x1f\x8b\n\x1f", "\x1f\x8b\n\x1f", 0 },
};

static size_t ending_of(const char *page, size_t len, char *to, uint32_t *ret_lines)
{
    memcpy(to, page, len);
    return adp_page_ending(to, len, ret_lines);
}

START_TEST(what_the_last_line_is_about_is_left_out_unless_it_is_ended)
{
    uint32_t lines = 77;
    char read[128] = "";
    size_t len = ending_of(pages[_i].page, strlen(pages[_i].page), read, &lines);
    read[len] = '\0';
    ck_assert_str_eq(read, pages[_i].read);
    ck_assert_uint_eq(lines, pages[_i].lines);
}
END_TEST

/* Wherever a page is cut, what is read of it says of each name what the whole page says, or
 * nothing. */
START_TEST(no_cut_leaves_a_part_of_a_family)
{
    static const char page[] = "# TYPE q gauge\nq{e=\"0\"} 12\nq{e=\"1\"} 34\n"
                               "# TYPE r gauge\nr{e=\"0\"} 56\nr{e=\"1\"} 78\n";
    for (size_t n = 0; n < sizeof page; n++) {
        char cut[sizeof page] = "";
        uint32_t lines;
        memcpy(cut, page, n);
        bool ended = n == 0 || cut[n - 1] == '\n'; /* nothing shows */
        size_t len = adp_page_ending(cut, n, &lines);
        cut[len] = '\0';
        if (ended)
            continue;
        ck_assert(!strstr(cut, "q{e=\"0\"} 12\n") == !strstr(cut, "q{e=\"1\"} 34\n"));
        ck_assert(!strstr(cut, "r{e=\"0\"} 56\n") == !strstr(cut, "r{e=\"1\"} 78\n"));
        ck_assert(!*cut || cut[strlen(cut) - 1] == '\n');
    }
}
END_TEST

/* The same of pages that come engine by engine, and of a name in quotes. */
START_TEST(no_cut_leaves_a_part_of_what_stands_apart)
{
    static const char page[] = "# TYPE q gauge\nq{e=\"0\"} 12\n"
                               "# TYPE r gauge\nr{e=\"0\"} 56\n"
                               "q{e=\"1\"} 34\n{\"r\",e=\"1\"} 78";
    const size_t second = (size_t)(strstr(page, "q{e=\"1\"}") - page);
    for (size_t n = second + 1; n < sizeof page; n++) {
        char cut[sizeof page] = "";
        uint32_t lines;
        bool ended = page[n - 1] == '\n';
        size_t len = ending_of(page, n, cut, &lines);
        cut[len] = '\0';
        if (ended)
            continue;
        bool q0 = strstr(cut, "q{e=\"0\"} 12\n"), q1 = strstr(cut, "q{e=\"1\"} 34\n");
        ck_assert_msg(q0 == q1, "%zu: %s", n, cut);
        ck_assert_msg(!strstr(cut, "r{e=\"0\"} 56\n"), "%zu: %s", n, cut);
    }
}
END_TEST

/* 200,000 lines of 50,000 families, each four times: nothing is done a line times a family. */
START_TEST(a_large_page_of_many_families_is_read_whole_but_for_the_last)
{
    enum { FAMILIES = 50000, AGAIN = 4, LINE = 12 };
    char *page = malloc(FAMILIES * AGAIN * LINE + 1), *p = page;
    uint32_t lines;
    ck_assert_ptr_nonnull(page);
    for (int i = 0; i < FAMILIES * AGAIN; i++)
        p += snprintf(p, LINE + 1, "f%06d 123\n", i % FAMILIES);
    size_t len = (size_t)(p - page) - 1;
    /* the last family's own lines, which are the only ones that end before it */
    ck_assert_uint_eq(adp_page_ending(page, len, &lines), len - LINE + 1);
    ck_assert_uint_eq(lines, AGAIN);
    free(page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *tc = tcase_create("ending");
    tcase_add_loop_test(tc, what_the_last_line_is_about_is_left_out_unless_it_is_ended, 0,
                        sizeof pages / sizeof pages[0]);
    tcase_add_test(tc, no_cut_leaves_a_part_of_a_family);
    tcase_add_test(tc, no_cut_leaves_a_part_of_what_stands_apart);
    tcase_add_test(tc, a_large_page_of_many_families_is_read_whole_but_for_the_last);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
