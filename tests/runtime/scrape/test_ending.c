/* SPDX-License-Identifier: MIT */
#include "runtime/scrape/ending.h"

#include <check.h>
#include <stdbool.h>
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
    /* a header begins another family */
    { "a 1\n# TYPE a gauge\na 1", "a 1\n# TYPE a gauge\n", 1 },
};

START_TEST(what_the_last_line_is_about_is_left_out_unless_it_is_ended)
{
    uint32_t lines = 77;
    size_t len = adp_page_ending(pages[_i].page, strlen(pages[_i].page), &lines);
    ck_assert_msg(len == strlen(pages[_i].read), "%.*s", (int)len, pages[_i].page);
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
        cut[adp_page_ending(cut, n, &lines)] = '\0';
        if (ended)
            continue;
        ck_assert(!strstr(cut, "q{e=\"0\"} 12\n") == !strstr(cut, "q{e=\"1\"} 34\n"));
        ck_assert(!strstr(cut, "r{e=\"0\"} 56\n") == !strstr(cut, "r{e=\"1\"} 78\n"));
        ck_assert(!*cut || cut[strlen(cut) - 1] == '\n');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *tc = tcase_create("ending");
    tcase_add_loop_test(tc, what_the_last_line_is_about_is_left_out_unless_it_is_ended, 0,
                        sizeof pages / sizeof pages[0]);
    tcase_add_test(tc, no_cut_leaves_a_part_of_a_family);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
