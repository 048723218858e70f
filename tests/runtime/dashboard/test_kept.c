/* SPDX-License-Identifier: MIT */
#include "runtime/dashboard/kept.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adp_kept *kept;

static void create(void)
{
    kept = adp_kept_create();
    ck_assert_ptr_nonnull(kept);
}

static void destroy(void)
{
    adp_kept_destroy(kept);
}

static void add(const char *asked, uint64_t print, const char *body)
{
    adp_kept_add(kept, asked, print, body, strlen(body));
}

/* NULL: it is not kept. */
static void check_kept(const char *asked, uint64_t print, const char *body)
{
    char *found = NULL;
    size_t len = 0;
    ck_assert_int_eq(adp_kept_find(kept, asked, print, &found, &len), body != NULL);
    if (body) {
        ck_assert_uint_eq(len, strlen(body));
        ck_assert_int_eq(memcmp(found, body, len), 0);
    }
    free(found);
}

START_TEST(an_answer_is_found_by_its_question_and_its_print)
{
    add("a", 1, "one");
    check_kept("a", 1, "one");
    check_kept("a", 2, NULL);
    check_kept("b", 1, NULL);
}
END_TEST

START_TEST(an_answer_made_anew_takes_the_place_of_the_old_one)
{
    add("a", 1, "one");
    add("a", 2, "another");
    check_kept("a", 1, NULL);
    check_kept("a", 2, "another");
}
END_TEST

START_TEST(the_oldest_of_more_than_sixteen_is_given_up)
{
    char asked[16];
    for (int i = 0; i < 17; i++) {
        snprintf(asked, sizeof asked, "%d", i);
        add(asked, 1, asked);
    }
    check_kept("0", 1, NULL);
    for (int i = 1; i < 17; i++) {
        snprintf(asked, sizeof asked, "%d", i);
        check_kept(asked, 1, asked);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept");
    TCase *tests = tcase_create("kept");
    tcase_add_checked_fixture(tests, create, destroy);
    tcase_add_test(tests, an_answer_is_found_by_its_question_and_its_print);
    tcase_add_test(tests, an_answer_made_anew_takes_the_place_of_the_old_one);
    tcase_add_test(tests, the_oldest_of_more_than_sixteen_is_given_up);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
