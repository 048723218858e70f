/* SPDX-License-Identifier: MIT */
#include "runtime/config/config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static void add(struct adp_errors *errors, uint32_t line, uint32_t column,
                const char *text)
{
    adp_errors_add(errors, ADP_EINVAL, "a.yaml", (struct adp_place) { line, column },
                   "%s", text);
}

/* The texts one after the other. */
static const char *texts(const struct adp_errors *errors)
{
    static char all[1024];
    size_t at = 0;
    all[0] = '\0';
    for (uint32_t i = 0; i < errors->n; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, "%s ", errors->list[i].text);
    return all;
}

START_TEST(errors_stand_in_the_order_of_their_places)
{
    struct adp_errors errors = { 0 };
    add(&errors, 2, 5, "d");
    add(&errors, 1, 9, "b");
    add(&errors, 0, 0, "no-place");
    add(&errors, 2, 1, "c");
    add(&errors, 1, 2, "a");
    add(&errors, 10, 1, "e");
    ck_assert_str_eq(texts(&errors), "a b c d e no-place ");
    adp_errors_free(&errors);
}
END_TEST

START_TEST(of_one_place_the_first_told_stands_first)
{
    struct adp_errors errors = { 0 };
    add(&errors, 3, 3, "late");
    add(&errors, 1, 1, "first");
    add(&errors, 1, 1, "second");
    add(&errors, 1, 1, "third");
    ck_assert_str_eq(texts(&errors), "first second third late ");
    adp_errors_free(&errors);
}
END_TEST

START_TEST(the_same_error_is_kept_once)
{
    struct adp_errors errors = { 0 };
    add(&errors, 1, 1, "a");
    add(&errors, 1, 1, "b");
    add(&errors, 1, 1, "a");
    add(&errors, 1, 2, "a");
    ck_assert_str_eq(texts(&errors), "a b a ");
    adp_errors_free(&errors);
}
END_TEST

START_TEST(after_the_hundredth_one_more_says_so)
{
    struct adp_errors errors = { 0 };
    for (uint32_t i = 0; i < 300; i++)
        add(&errors, 300 - i, 1, "x");
    ck_assert_uint_eq(errors.n, ADP_CONFIG_MAX_ERRORS + 1);
    const adp_error *last = &errors.list[ADP_CONFIG_MAX_ERRORS];
    ck_assert_str_eq(last->text, "too many errors, the first 100 are kept");
    ck_assert_str_eq(last->file, "a.yaml");
    ck_assert_uint_eq(last->line, 0);
    /* The first hundred told were those of lines 300 to 201. */
    ck_assert_uint_eq(errors.list[0].line, 201);
    ck_assert_uint_eq(errors.list[99].line, 300);
    adp_errors_free(&errors);
}
END_TEST

START_TEST(an_error_told_again_is_not_one_too_many)
{
    struct adp_errors errors = { 0 };
    for (uint32_t i = 1; i <= ADP_CONFIG_MAX_ERRORS; i++)
        add(&errors, i, 1, "x");
    add(&errors, 7, 1, "x");
    ck_assert_uint_eq(errors.n, ADP_CONFIG_MAX_ERRORS);
    adp_errors_free(&errors);
}
END_TEST

START_TEST(a_freed_list_is_empty_and_can_be_filled_again)
{
    struct adp_errors errors = { 0 };
    add(&errors, 1, 1, "a");
    adp_errors_free(&errors);
    ck_assert_uint_eq(errors.n, 0);
    add(&errors, 1, 1, "b");
    ck_assert_str_eq(texts(&errors), "b ");
    adp_errors_free(&errors);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("errors");
    TCase *t = tcase_create("errors");
    tcase_add_test(t, errors_stand_in_the_order_of_their_places);
    tcase_add_test(t, of_one_place_the_first_told_stands_first);
    tcase_add_test(t, the_same_error_is_kept_once);
    tcase_add_test(t, after_the_hundredth_one_more_says_so);
    tcase_add_test(t, an_error_told_again_is_not_one_too_many);
    tcase_add_test(t, a_freed_list_is_empty_and_can_be_filled_again);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
