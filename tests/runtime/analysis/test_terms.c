/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/terms.h"

#include "core/expr.h"
#include "core/reason.h"
#include "core/signal.h"
#include "runtime/analysis/finding.h"
#include "runtime/analysis/items.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(no_word_stands_twice_and_none_is_empty)
{
    size_t n;
    const struct adp_term *terms = adp_terms(&n);
    ck_assert_uint_gt(n, 80);
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_eq(adp_term_find(terms[i].word), &terms[i]);
        ck_assert_uint_gt(strlen(terms[i].meaning), 10);
    }
}
END_TEST

/* What pages print beside names and numbers. */
static const char *const words[] = {
    "LIVE",         "INERT",
    "UNKNOWN",      "baseline",
    "shadow",       "offered",
    "admitted",     "refused",
    "goodput",      "TTFT",
    "SLO",          "p50",
    "p95",          "closest",
    "distance",     "held",
    "absent",       "never supplied",
    "rule",         "gate",
    "margin",       "threshold",
    "state sample", "outcome",
    "writer",       "dropped",
    "fault",        "unrecorded loss",
    "scrape error", "corrupt line",
    "repeat",       "median",
    "same load",    "separated",
    "not a result", "copy",
    "notes",        "run",
    "parameters",   "experiment",
    "policy_error", "enforced",
    "signal",       "decision",
    "on_error",
};

START_TEST(every_word_of_the_pages_is_explained)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(adp_term_find(words[i]) != NULL, "%s", words[i]);
}
END_TEST

START_TEST(every_reason_is_explained_with_its_status)
{
    for (uint32_t reason = 1; adp_reason_word(reason); reason++) {
        const struct adp_term *term = adp_term_find(adp_reason_word(reason));
        char status[8];
        ck_assert_msg(term != NULL, "%s", adp_reason_word(reason));
        snprintf(status, sizeof status,
                 "%u: ", adp_reason_status(reason, ADP_PROFILE_STANDARD));
        ck_assert_msg(strncmp(term->meaning, status, strlen(status)) == 0, "%s: %s",
                      term->word, term->meaning);
    }
}
END_TEST

static void explained(const char *word)
{
    ck_assert_msg(adp_term_find(word) != NULL, "%s", word);
}

START_TEST(every_word_of_a_closed_vocabulary_is_explained)
{
    for (enum adp_why why = ADP_WHY_NEVER_SUPPLIED; why < ADP_WHY_COUNT; why++)
        explained(adp_why_word(why));
    for (int i = ADP_UNKNOWN; i <= ADP_LIVE; i++)
        explained(adp_finding_word((enum adp_finding)i));
    for (int i = ADP_ITEM_NOT_RECORDED; i <= ADP_ITEM_FAILED; i++)
        explained(adp_evidence_word((enum adp_evidence)i));
    uint32_t n;
    const struct adp_signal_def *signals = adp_dictionary(&n);
    for (uint32_t i = 0; i < n; i++)
        explained(signals[i].name);
    static const char *const others[] = {
        "admit",    "defer",      "reject", "governing", "shadow",
        "governed", "ungoverned", "fitted", "inherited", "default",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        explained(others[i]);
}
END_TEST

START_TEST(case_and_dashes_do_not_matter)
{
    ck_assert_str_eq(adp_term_find("inert")->word, "INERT");
    ck_assert_str_eq(adp_term_find("Dual_Gate")->word, "dual-gate");
    ck_assert_str_eq(adp_term_find("unrecorded-loss")->word, "unrecorded loss");
    ck_assert_ptr_null(adp_term_find("goodputs"));
    ck_assert_ptr_null(adp_term_find(""));
}
END_TEST

START_TEST(an_unknown_word_is_answered_with_the_nearest)
{
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_terms_print(stdout, "goodputt", &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "\"goodputt\" is not a term, did you mean \"goodput\"?");
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_terms_print(stdout, "kv", &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "\"kv\" is not a term, did you mean \"kv_capacity\"?");
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_terms_print(stdout, "zzzzzzzz", &err), ADP_ENOENT);
    ck_assert_str_eq(err.text,
                     "\"zzzzzzzz\" is not a term; without a word, all are listed");
}
END_TEST

START_TEST(the_whole_table_is_printed_within_80_columns)
{
    char *text;
    size_t len, n;
    FILE *to = open_memstream(&text, &len);
    ck_assert_int_eq(adp_terms_print(to, NULL, NULL), 0);
    fclose(to);
    const struct adp_term *terms = adp_terms(&n);
    for (size_t i = 0; i < n; i++)
        ck_assert_ptr_nonnull(strstr(text, terms[i].word));
    /* A gap between a word, however long, and its meaning. */
    for (size_t i = 0; i < n; i++) {
        char row[80];
        snprintf(row, sizeof row, "\n  %s  ", terms[i].word);
        ck_assert_msg(strstr(text, row) != NULL, "%s", terms[i].word);
    }
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        ck_assert_msg(strlen(line) <= 80, "%s", line);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("terms");
    TCase *t = tcase_create("terms");
    tcase_add_test(t, no_word_stands_twice_and_none_is_empty);
    tcase_add_test(t, every_word_of_the_pages_is_explained);
    tcase_add_test(t, every_reason_is_explained_with_its_status);
    tcase_add_test(t, every_word_of_a_closed_vocabulary_is_explained);
    tcase_add_test(t, case_and_dashes_do_not_matter);
    tcase_add_test(t, an_unknown_word_is_answered_with_the_nearest);
    tcase_add_test(t, the_whole_table_is_printed_within_80_columns);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
