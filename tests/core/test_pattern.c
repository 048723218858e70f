/* SPDX-License-Identifier: MIT */
#include "core/pattern.h"

#include "core/error.h"
#include "tests/core/failing.h"

#include <check.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const struct {
    const char *pattern, *value;
    bool matches;
} rows[] = {
    /* the whole value, never a part of it */
    { "vllm", "vllm", true },
    { "vllm", "vllm-0", false },
    { "vllm", "my-vllm", false },
    { "", "", true },
    { "", "a", false },
    /* . and repetition */
    { "a.c", "abc", true },
    { "a.c", "ac", false },
    { ".*", "", true },
    { ".*", "anything at all", true },
    { ".+", "", false },
    { "ab*", "a", true },
    { "ab*", "abbb", true },
    { "ab+", "a", false },
    { "ab?c", "ac", true },
    { "ab?c", "abbc", false },
    { "(ab)*", "abab", true },
    { "(ab)*", "aba", false },
    { "(a*)*", "aaa", true }, /* an empty loop ends */
    { "(a*)*b", "aaac", false },
    /* choice binds weaker than sequence */
    { "prefill|decode", "decode", true },
    { "prefill|decode", "prefillecode", false },
    { "a|b|c", "c", true },
    { "a|b|c", "d", false },
    { "a|", "", true },
    { "x(a|b)y", "xby", true },
    { "x(?:a|b)+y", "xabay", true },
    { "x(a|b)y", "xay|", false },
    /* classes */
    { "[a-c]", "b", true },
    { "[a-c]", "d", false },
    { "[^a-c]", "d", true },
    { "[^a-c]", "a", false },
    { "[]x]", "]", true }, /* a ] that comes first is a member */
    { "[a-]", "-", true },
    { "[\\]]", "]", true },
    { "[\\d.]+", "10.0", true },
    { "[\\d.]+", "10-0", false },
    { "\\d+", "0123456789", true },
    { "\\d", "x", false },
    { "\\w+", "aZ_9", true },
    { "\\w", "-", false },
    { "a\\sb", "a b", true },
    { "10\\.0", "10.0", true },
    { "10\\.0", "1000", false },
    { "a\\|b", "a|b", true },
    /* anchors say what is so anyway */
    { "^a$", "a", true },
    { "^a$", "^a$", false },
    { "a\\$", "a$", true },
    { "a\\\\$", "a\\", true },
    { "^", "", true },
    /* classes with names */
    { "[[:alpha:]_]+", "aZ_", true },
    { "[[:alpha:]]", ":", false },
    { "[^[:digit:]]+", "ab:", true },
    { "[^[:digit:]]+", "ab1", false },
    { "[[:space:]]", "\t", true },
    { "[[:punct:]]+", "!/:@[`{~", true },
    { "[[]", "[", true },
    { "[[-]", "-", true },
    /* characters, not bytes */
    { "\xc3\xa9", "\xc3\xa9", true },
    { ".", "\xc3\xa9", true },
    { "..", "\xc3\xa9", false },
    { "...", "a\xe6\xa8\xa1\xf0\x9f\x98\x80", true },
    { "[^a]", "\xc3\xa9", true },
    { "[^a][^a]", "\xc3\xa9", false },
    { ".*b",
      "\xc3\xa9\xc3\xa9"
      "b",
      true },
    { "\\w+", "\xc3\xa9", false },
    { ".", "\n", true },
};

START_TEST(a_pattern_is_held_against_the_whole_value)
{
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    ck_assert_int_eq(
        adp_pattern_compile(&pattern, rows[_i].pattern, strlen(rows[_i].pattern), &why),
        0);
    ck_assert_msg(adp_pattern_match(pattern, rows[_i].value, strlen(rows[_i].value)) ==
                      rows[_i].matches,
                  "\"%s\" against \"%s\"", rows[_i].pattern, rows[_i].value);
    adp_pattern_destroy(pattern);
}
END_TEST

static const struct {
    const char *pattern;
    int code;
    const char *why;
} refusals[] = {
    { "*a", ADP_ESYNTAX, "a repetition has nothing to repeat" },
    { "a|+", ADP_ESYNTAX, "a repetition has nothing to repeat" },
    { "a**", ADP_ESYNTAX, "a repetition repeats a repetition" },
    { "a+?", ADP_ESYNTAX, "a repetition repeats a repetition" },
    { "a{2}", ADP_ESYNTAX, "counted repetition \"{ }\" is not known" },
    { "(a", ADP_ESYNTAX, "a \"(\" is not closed" },
    { "(", ADP_ESYNTAX, "a \"(\" is not closed" },
    { "a)", ADP_ESYNTAX, "a \")\" closes nothing" },
    { "[a", ADP_ESYNTAX, "a \"[\" is not closed" },
    { "[]", ADP_ESYNTAX, "a \"[\" is not closed" },
    { "[z-a]", ADP_ESYNTAX, "a range in \"[ ]\" goes backwards" },
    { "a\\", ADP_ESYNTAX, "a \"\\\" ends the pattern" },
    { "\\D", ADP_ESYNTAX, "only \\d, \\w, \\s and punctuation follow a \"\\\"" },
    { "\\1", ADP_ESYNTAX, "only \\d, \\w, \\s and punctuation follow a \"\\\"" },
    { "(?i)a", ADP_ESYNTAX, "of \"(?\" only \"(?:\" is known" },
    { "[[:foo:]]", ADP_ESYNTAX, "a class in \"[ ]\" is not known" },
    { "[[.a.]]", ADP_ESYNTAX, "a class in \"[ ]\" is not known" },
    { "[[=a=]]", ADP_ESYNTAX, "a class in \"[ ]\" is not known" },
    { "[\xc3\xa9]", ADP_ESYNTAX, "only ASCII is known in \"[ ]\"" },
    { "[^a-\xff]", ADP_ESYNTAX, "only ASCII is known in \"[ ]\"" },
    { "\\b", ADP_ESYNTAX, "only \\d, \\w, \\s and punctuation follow a \"\\\"" },
    { "a{,2}", ADP_ESYNTAX, "counted repetition \"{ }\" is not known" },
    { "a}", ADP_ESYNTAX, "counted repetition \"{ }\" is not known" },
    { "(^a)", ADP_ESYNTAX, "\"^\" belongs in front and \"$\" at the end of a pattern" },
    { "a|^b", ADP_ESYNTAX, "\"^\" belongs in front and \"$\" at the end of a pattern" },
    { "a^b", ADP_ESYNTAX, "\"^\" belongs in front and \"$\" at the end of a pattern" },
    { "((((((((((((((((a))))))))))))))))", 0, NULL },
    { "(((((((((((((((((a)))))))))))))))))", ADP_EINVAL,
      "the pattern is nested deeper than 16" },
    { "[a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a]", 0, NULL },
    { "[a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a][a]", ADP_EINVAL,
      "the pattern has more than 16 classes" },
};

START_TEST(what_is_not_known_is_refused_and_never_guessed_at)
{
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    int rc = adp_pattern_compile(&pattern, refusals[_i].pattern,
                                 strlen(refusals[_i].pattern), &why);
    ck_assert_int_eq(rc, refusals[_i].code);
    ck_assert_pstr_eq(why, refusals[_i].why);
    ck_assert((pattern != NULL) == (rc == 0));
    adp_pattern_destroy(pattern);
}
END_TEST

/* 255 bytes take 255 steps and one more for the end. */
START_TEST(a_pattern_holds_256_steps_and_no_more)
{
    char text[256];
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    memset(text, 'a', sizeof text);
    ck_assert_int_eq(adp_pattern_compile(&pattern, text, 255, &why), 0);
    ck_assert(adp_pattern_match(pattern, text, 255));
    ck_assert(!adp_pattern_match(pattern, text, 254));
    adp_pattern_destroy(pattern);
    pattern = NULL;
    ck_assert_int_eq(adp_pattern_compile(&pattern, text, 256, &why), ADP_EINVAL);
    ck_assert_pstr_eq(why, "the pattern is too long");
    ck_assert_ptr_null(pattern);
    memset(text, '|', sizeof text); /* each costs a fork and a jump */
    ck_assert_int_eq(adp_pattern_compile(&pattern, text, 200, &why), ADP_EINVAL);
}
END_TEST

START_TEST(a_hostile_pattern_does_not_take_exponential_time)
{
    static const char text[] = "(a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?)*b";
    char value[4096];
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    memset(value, 'a', sizeof value);
    ck_assert_int_eq(adp_pattern_compile(&pattern, text, sizeof text - 1, &why), 0);
    ck_assert(!adp_pattern_match(pattern, value, sizeof value));
    value[sizeof value - 1] = 'b';
    ck_assert(adp_pattern_match(pattern, value, sizeof value));
    adp_pattern_destroy(pattern);
}
END_TEST

/* ---- against POSIX's extended expressions, where both mean the same ---- */

static uint32_t drawn = 1;

/* A linear congruential generator: the same corpus in every run. */
static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 16) % below;
}

static void put(char *to, size_t size, const char *text)
{
    ck_assert_uint_lt(strlen(to) + strlen(text), size);
    memcpy(to + strlen(to), text, strlen(text) + 1);
}

/* One pattern over a, b and c, of the syntax that both know. */
static void draw_pattern(char *to, size_t size, int depth)
{
    static const char *const atoms[] = { "a",     "b",      ".",           "[ab]", "[^a]",
                                         "[a-c]", "[^b-c]", "[[:alpha:]]", "\\.",  "c" };
    uint32_t alternatives = 1 + (draw(3) == 0);
    for (uint32_t k = 0; k < alternatives; k++) {
        if (k)
            put(to, size, "|");
        for (uint32_t n = 1 + draw(3); n > 0; n--) {
            if (depth < 3 && draw(4) == 0) {
                put(to, size, "(");
                draw_pattern(to, size, depth + 1);
                put(to, size, ")");
            } else {
                put(to, size, atoms[draw(COUNT(atoms))]);
            }
            static const char *const repeats[] = { "", "", "", "*", "+", "?" };
            put(to, size, repeats[draw(COUNT(repeats))]);
        }
    }
}

/* All texts over a, b, c and a dot up to 4 long, shortest first: number i in base 5. */
static bool spell(uint32_t i, char to[8])
{
    size_t n = 0;
    for (; i; i /= 5) {
        if (i % 5 == 0)
            return false;
        to[n++] = "abc."[i % 5 - 1];
    }
    to[n] = '\0';
    return true;
}

START_TEST(a_pattern_matches_what_posix_matches)
{
    uint32_t compared = 0, matched = 0;
    for (int k = 0; k < 400; k++) {
        char text[512] = "", anchored[600], value[8];
        struct adp_pattern *pattern = NULL;
        const char *why = NULL;
        regex_t posix;
        draw_pattern(text, sizeof text, 0);
        if (adp_pattern_compile(&pattern, text, strlen(text), &why) != 0)
            continue; /* too long, or too many classes */
        snprintf(anchored, sizeof anchored, "^(%s)$", text);
        ck_assert_int_eq(regcomp(&posix, anchored, REG_EXTENDED | REG_NOSUB), 0);
        for (uint32_t i = 0; i < 5 * 5 * 5 * 5; i++) {
            if (!spell(i, value))
                continue;
            bool is = adp_pattern_match(pattern, value, strlen(value));
            bool should = regexec(&posix, value, 0, NULL, 0) == 0;
            ck_assert_msg(is == should, "\"%s\" against \"%s\"", text, value);
            compared++;
            matched += is;
        }
        regfree(&posix);
        adp_pattern_destroy(pattern);
    }
    ck_assert_uint_gt(compared, 300 * 341);
    ck_assert_uint_gt(matched, 1000);
}
END_TEST

START_TEST(a_failed_allocation_is_reported)
{
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    fail_allocation(1);
    int rc = adp_pattern_compile(&pattern, "a", 1, &why);
    fail_allocation(0);
    ck_assert_int_eq(rc, ADP_ENOMEM);
    ck_assert_ptr_null(pattern);
}
END_TEST

START_TEST(matching_allocates_nothing)
{
    struct adp_pattern *pattern = NULL;
    const char *why = NULL;
    ck_assert_int_eq(adp_pattern_compile(&pattern, "(a|b)*[^c]", 10, &why), 0);
    fail_allocation(0);
    bool matched = adp_pattern_match(pattern, "abba", 4);
    uint64_t made = allocations;
    ck_assert(matched);
    ck_assert_uint_eq(made, 0);
    adp_pattern_destroy(pattern);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pattern");
    TCase *t = tcase_create("pattern");
    tcase_add_loop_test(t, a_pattern_is_held_against_the_whole_value, 0, COUNT(rows));
    tcase_add_loop_test(t, what_is_not_known_is_refused_and_never_guessed_at, 0,
                        COUNT(refusals));
    tcase_add_test(t, a_pattern_holds_256_steps_and_no_more);
    tcase_add_test(t, a_hostile_pattern_does_not_take_exponential_time);
    tcase_add_test(t, a_pattern_matches_what_posix_matches);
    tcase_add_test(t, a_failed_allocation_is_reported);
    tcase_add_test(t, matching_allocates_nothing);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
