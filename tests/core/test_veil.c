/* SPDX-License-Identifier: MIT */
#include "core/veil.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *shown;
} words[] = {
    { "", "" },
    { "page.prom", "page.prom" },
    { "/tmp/a:b", "/tmp/a:b" },
    { "kv_threshold:threshold=0.9", "kv_threshold:threshold=0.9" },
    { "http://host:80/m", "http://host:80/m" },
    { "http://[::1]:80/m", "http://[::1]:80/m" },
    { "http://HOST:PORT/metrics,", "http://HOST:PORT/metrics," },
    { "unix:/run/x.sock:/m", "unix:/run/x.sock:/m" },
    { "http://h/m?...", "http://h/m?..." },
    { "http://h/m?...#2:", "http://h/m?...#2:" },
    { "http://u:PASS@h/m?k=QUERY", "http://...@h/m?..." },
    { "http://USER@h/m", "http://...@h/m" },
    { "HTTPS://u:PASS@h", "HTTPS://...@h" },
    { "ftp://u:PASS@h/m", "ftp://...@h/m" },
    { "http:/u:PASS@h", "http:/...@h" },
    { "http:u:PASS@h", "http:...@h" },
    { "u:PASS@h:8000/metrics", "...@h:8000/metrics" },
    { "USER@h/metrics", "...@h/metrics" },
    { "http://u:PA/SS@h", "http://...@h" },
    { "http://u:PA SS@h", "http://...@h" },
    { "http://u:PA@SS@h", "http://...@h" },
    { "http://u:PASS", "http://u:..." },
    { "h:8000/m?QUERY", "h:8000/m?..." },
    { "http://h?QUERY", "http://h?..." },
    { "http://h/m#QUERY", "http://h/m#..." },
    { "unix:/run/x.sock?QUERY:/m", "unix:/run/x.sock?..." },
    { "http://h/m?...&k=QUERY", "http://h/m?..." },
    { "http://h/m?...#QUERY", "http://h/m?..." },
    { "http://h/m?...12345", "http://h/m?..." },
};

START_TEST(what_may_be_an_address_is_shown_without_its_secrets)
{
    char shown[128];
    adp_veil(words[_i].text, shown, sizeof shown);
    ck_assert_str_eq(shown, words[_i].shown);
}
END_TEST

START_TEST(the_words_of_a_sentence_are_veiled_one_by_one)
{
    char shown[128];
    adp_veil_words(
        "a.yaml:3:7: not one, found \"http:/u:PASS@h\", try http://h/m?k=QUERY "
        "or \"http://u:PA SS@h\", \"http://u:PA\"SS@h\" too?",
        shown, sizeof shown);
    ck_assert_str_eq(shown, "a.yaml:3:7: not one, found \"http:/...@h\", try "
                            "http://h/m?... or \"http://...@h\", \"http://...@h\" too?");
}
END_TEST

START_TEST(the_colon_behind_a_name_is_the_sentences)
{
    char shown[128];
    adp_veil_words("unix:/x?k=QUERY: cut: http://h/m?k=QUERY, http://u:PASS; h/m: not",
                   shown, sizeof shown);
    ck_assert_str_eq(shown, "unix:/x?...: cut: http://h/m?..., http://u:...; h/m: not");
}
END_TEST

START_TEST(what_does_not_fit_is_cut)
{
    char shown[12];
    memset(shown, 'x', sizeof shown);
    adp_veil("http://u:PASS@host", shown, sizeof shown);
    ck_assert_str_eq(shown, "http://...@");
    adp_veil("http://u:PASS@host", shown, 1);
    ck_assert_str_eq(shown, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("veil");
    TCase *tc = tcase_create("veil");
    tcase_add_loop_test(tc, what_may_be_an_address_is_shown_without_its_secrets, 0,
                        sizeof words / sizeof words[0]);
    tcase_add_test(tc, the_words_of_a_sentence_are_veiled_one_by_one);
    tcase_add_test(tc, the_colon_behind_a_name_is_the_sentences);
    tcase_add_test(tc, what_does_not_fit_is_cut);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
