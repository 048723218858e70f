/* SPDX-License-Identifier: MIT */
#include "core/error.h"

#include <check.h>
#include <stdlib.h>

START_TEST(the_first_error_wins)
{
    struct adp_error e = { 0 };
    ck_assert_int_eq(adp_error_at(&e, ADP_ESYNTAX, "a.yaml", 3, 7, "one"), ADP_ESYNTAX);
    ck_assert_int_eq(adp_error_set(&e, ADP_EINVAL, "two"), ADP_EINVAL);
    char text[64];
    adp_error_format(&e, text, sizeof text);
    ck_assert_str_eq(text, "a.yaml:3:7: one");
}
END_TEST

START_TEST(an_error_takes_the_place_of_a_note_and_nothing_else_does)
{
    struct adp_error e = { 0 };
    ck_assert_int_eq(adp_error_at(&e, ADP_NOTE, "a", 3, 7, "one"), ADP_NOTE);
    ck_assert_int_eq(adp_error_set(&e, ADP_NOTE, "two"), ADP_NOTE);
    ck_assert_str_eq(e.text, "one");
    ck_assert_int_eq(adp_error_set(&e, ADP_EIO, "three"), ADP_EIO);
    ck_assert_int_eq(adp_error_set(&e, ADP_NOTE, "four"), ADP_NOTE);
    ck_assert_int_eq(adp_error_set(&e, ADP_EINVAL, "five"), ADP_EINVAL);
    ck_assert_int_eq(e.code, ADP_EIO);
    ck_assert_str_eq(e.text, "three");
    ck_assert_str_eq(e.file, "");
    ck_assert_uint_eq(e.line, 0);
}
END_TEST

START_TEST(a_place_without_a_file_reads_as_one)
{
    struct adp_error e = { 0 };
    adp_error_at(&e, ADP_ESYNTAX, NULL, 3, 7, "one");
    char text[64];
    adp_error_format(&e, text, sizeof text);
    ck_assert_str_eq(text, "line 3, column 7: one");
}
END_TEST

START_TEST(foreign_control_bytes_cannot_drive_a_terminal)
{
    struct adp_error e = { 0 };
    adp_error_set(&e, ADP_EINVAL, "found \"%s\"", "\033[2J\xc3\xa9\n");
    char text[64];
    adp_error_format(&e, text, sizeof text);
    ck_assert_str_eq(text, "found \"\\x1b[2J\\xc3\\xa9\\x0a\"");
}
END_TEST

START_TEST(printing_is_cut_at_the_capacity_and_terminated)
{
    struct adp_error e = { 0 };
    adp_error_set(&e, ADP_EINVAL, "abcdef");
    char text[4];
    ck_assert_uint_eq(adp_error_format(&e, text, sizeof text), 3);
    ck_assert_str_eq(text, "abc");
}
END_TEST

static const char *const words[] = { "signals", "shadow", "policy", "run", "log", NULL };
static const struct {
    const char *word, *nearest;
} near[] = {
    { "polcy", "policy" },   { "plicyo", "policy" }, { "singals", "signals" },
    { "rnu", "run" },        { "lgo", "log" },       { "xyz", NULL },
    { "shadows", "shadow" }, { "", NULL },
};

START_TEST(nearest_word_is_found_within_its_edits)
{
    const char *found = adp_error_nearest(near[_i].word, words);
    if (near[_i].nearest)
        ck_assert_pstr_eq(found, near[_i].nearest);
    else
        ck_assert_ptr_null(found);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("error");
    TCase *t = tcase_create("error");
    tcase_add_test(t, the_first_error_wins);
    tcase_add_test(t, an_error_takes_the_place_of_a_note_and_nothing_else_does);
    tcase_add_test(t, a_place_without_a_file_reads_as_one);
    tcase_add_test(t, foreign_control_bytes_cannot_drive_a_terminal);
    tcase_add_test(t, printing_is_cut_at_the_capacity_and_terminated);
    tcase_add_loop_test(t, nearest_word_is_found_within_its_edits, 0,
                        sizeof near / sizeof near[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
