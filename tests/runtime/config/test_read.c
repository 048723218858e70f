/* SPDX-License-Identifier: MIT */
#include "runtime/config/read.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct adp_node *scalar(const char *text)
{
    static struct adp_node node;
    node = (struct adp_node) { .kind = ADP_NODE_SCALAR, .text = text };
    return &node;
}

START_TEST(a_long_text_is_shown_cut)
{
    /* 64 bytes stand as they are; of 65 the first 64. */
    char text[80] = "";
    memset(text, 'a', 64);
    char expected[80];
    snprintf(expected, sizeof expected, "\"%s\"", text);
    ck_assert_str_eq(adp_phrase_found(scalar(text)).text, expected);
    snprintf(expected, sizeof expected, "\"%s...\"", text);
    text[64] = 'b';
    ck_assert_str_eq(adp_phrase_found(scalar(text)).text, expected);
}
END_TEST

START_TEST(a_text_is_not_cut_inside_a_character)
{
    /* 63 bytes and a character of two: the cut falls before it. */
    char text[80] = "", expected[80];
    memset(text, 'a', 63);
    snprintf(expected, sizeof expected, "\"%s...\"", text);
    memcpy(text + 63, "éé", 4);
    ck_assert_str_eq(adp_phrase_found(scalar(text)).text, expected);
}
END_TEST

static const char *const words[] = { "admit", "reject", NULL };
static const char *const one[] = { "threshold", NULL };

START_TEST(the_nearest_word_is_named_or_all_are)
{
    ck_assert_str_eq(adp_phrase_nearest("rejet", words).text, "\"reject\"");
    ck_assert_str_eq(adp_phrase_nearest("drop", words).text,
                     "one of \"admit\", \"reject\"");
    ck_assert_str_eq(adp_phrase_nearest("zzz", one).text, "\"threshold\"");
}
END_TEST

START_TEST(a_long_list_of_words_ends_in_dots)
{
    char text[40][21];
    const char *many[41] = { NULL };
    for (int i = 0; i < 40; i++) {
        snprintf(text[i], sizeof text[i], "abcdefghijklmnop%04d", i);
        many[i] = text[i];
    }
    struct adp_phrase phrase = adp_phrase_nearest("zzz", many);
    size_t len = strlen(phrase.text);
    ck_assert_uint_lt(len, sizeof phrase.text);
    ck_assert_str_eq(phrase.text + len - 6, "\", ...");
    ck_assert_ptr_nonnull(strstr(phrase.text, "one of \"abcdefghijklmnop0000\", "));
}
END_TEST

static const struct {
    const char *name;
    bool plain;
} names[] = {
    { "kv_pressure", true },
    { "a", true },
    { "x9_", true },
    { "", false },
    { "_a", false },
    { "9a", false },
    { "Kv", false },
    { "kV", false },
    { "a-b", false },
    { "a b", false },
    { "a.b", false },
    { "é", false },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

START_TEST(plain_names_are_lower_case_words_of_at_most_63_bytes)
{
    ck_assert_int_eq(adp_name_is_plain(names[_i].name), names[_i].plain);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("read");
    TCase *t = tcase_create("read");
    tcase_add_test(t, a_long_text_is_shown_cut);
    tcase_add_test(t, a_text_is_not_cut_inside_a_character);
    tcase_add_test(t, the_nearest_word_is_named_or_all_are);
    tcase_add_test(t, a_long_list_of_words_ends_in_dots);
    tcase_add_loop_test(t, plain_names_are_lower_case_words_of_at_most_63_bytes, 0,
                        sizeof names / sizeof names[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
