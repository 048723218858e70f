/* SPDX-License-Identifier: MIT */
/* What is plain, what is left to the general parser, and that both read alike. */
#include "tests/runtime/sidecar/general.h"

#include <check.h>
#include <stdlib.h>

/* A copy of exactly so many bytes, so that a look behind them is seen. */
static bool reads(struct adp_plain *plain, const char *body, size_t len)
{
    static char *copy;
    free(copy);
    copy = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, body, len);
    return adp_plain_read(plain, copy, len);
}

static const struct {
    const char *name, *body;
    uint32_t n;
    struct {
        enum adp_header fact;
        const char *text;
    } told[4];
} rows[] = {
    { "an empty object", "{}", 0, { { 0 } } },
    { "an id", "{\"request_id\":\"r1\"}", 1, { { ADP_HEADER_REQUEST_ID, "r1" } } },
    { "empty facts", "{\"facts\":{}}", 0, { { 0 } } },
    { "facts before the id",
      "{\"facts\":{\"tenant\":\"t\",\"prompt_tokens\":9},\"request_id\":\"r\"}",
      3,
      { { ADP_HEADER_TENANT, "t" },
        { ADP_HEADER_PROMPT_TOKENS, "9" },
        { ADP_HEADER_REQUEST_ID, "r" } } },
    { "blanks anywhere",
      " {\n\t\"facts\" : { \"priority\" : -12 , \"session\" : \"\" } } \r\n",
      2,
      { { ADP_HEADER_PRIORITY, "-12" }, { ADP_HEADER_SESSION, "" } } },
    { "nulls tell nothing",
      "{\"request_id\":null,\"facts\":{\"tenant\":null,\"max_output_tokens\":0}}",
      1,
      { { ADP_HEADER_MAX_OUTPUT_TOKENS, "0" } } },
    { "numbers as texts and texts as numbers",
      "{\"request_id\":7,\"facts\":{\"prompt_tokens\":\"12\"}}",
      2,
      { { ADP_HEADER_REQUEST_ID, "7" }, { ADP_HEADER_PROMPT_TOKENS, "12" } } },
    { "an id outside, and inside none",
      "{\"request_id\":\"a\",\"facts\":{\"id\":null}}",
      1,
      { { ADP_HEADER_REQUEST_ID, "a" } } },
    { "eighteen digits",
      "{\"facts\":{\"priority\":-123456789012345678}}",
      1,
      { { ADP_HEADER_PRIORITY, "-123456789012345678" } } },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

START_TEST(what_is_plain_is_read)
{
    struct adp_plain plain;
    ck_assert_msg(reads(&plain, rows[_i].body, strlen(rows[_i].body)), "%s",
                  rows[_i].name);
    ck_assert_uint_eq(plain.n, rows[_i].n);
    for (uint32_t i = 0; i < plain.n; i++) {
        ck_assert_int_eq(plain.told[i].fact, rows[_i].told[i].fact);
        ck_assert_uint_eq(plain.told[i].len, strlen(rows[_i].told[i].text));
        ck_assert_mem_eq(plain.told[i].at, rows[_i].told[i].text, plain.told[i].len);
    }
    ck_assert(general_agrees(&plain, rows[_i].body, strlen(rows[_i].body)));
}
END_TEST

/* Some of them are mistakes, which the general parser words; some are well. */
static const char *const left[] = {
    "",
    " ",
    "[]",
    "{",
    "{}x",
    "{},",
    "{\"request_id\":\"a\",\"facts\":{\"id\":\"b\"}}",
    "{\"request_id\"}",
    "{\"request_id\":}",
    "{\"request_id\":",
    "{\"request_id\":\"r\"",
    "{\"request_id\":\"r\",}",
    "{\"request_id\":\"r}",
    "{\"request_id\":\"r\" \"facts\":{}}",
    "{\"request_id\":true}",
    "{\"request_id\":{}}",
    "{\"request_id\":nul}",
    "{\"request_id\":\"a\\n\"}",
    "{\"request_id\":\"a\tb\"}",
    "{\"request_id\":\"\xc3\xa9\"}",
    "{\"request_id\":\"a\",\"request_id\":\"b\"}",
    "{\"id\":\"a\"}",
    "{\"tenant\":\"a\"}",
    "{\"facts\":null}",
    "{\"facts\":[]}",
    "{\"facts\":{},\"facts\":{}}",
    "{\"facts\":{\"facts\":{}}}",
    "{\"facts\":{\"tennant\":\"t\"}}",
    "{\"facts\":{\"tenant\":\"t\",\"tenant\":\"t\"}}",
    "{\"facts\":{\"id\":\"t\",\"request_id\":\"t\"}}",
    "{\"facts\":{\"priority\":-0}}",
    "{\"facts\":{\"priority\":01}}",
    "{\"facts\":{\"priority\":-}}",
    "{\"facts\":{\"priority\":1.5}}",
    "{\"facts\":{\"priority\":1e3}}",
    "{\"facts\":{\"priority\":1 2}}",
    "{\"facts\":{\"priority\":1234567890123456789}}",
    "{\"facts\":{\"priority\":1",
    "{\"metrics\":{\"a\":1}}",
};

START_TEST(anything_else_is_left_to_the_general_parser)
{
    struct adp_plain plain;
    ck_assert(!reads(&plain, left[_i], strlen(left[_i])));
}
END_TEST

START_TEST(a_nul_is_no_end)
{
    struct adp_plain plain;
    ck_assert(!reads(&plain, "{}\0", 3));
    ck_assert(!reads(&plain, "{}\0{}", 5));
    ck_assert(!reads(&plain, "{\"request_id\":\"a\0b\"}", 20));
    ck_assert(!adp_plain_read(&plain, NULL, 0));
}
END_TEST

/* Puts `body` with one byte of it changed into `to`; returns its length. */
static size_t change(char *to, const char *body, size_t at, size_t how,
                     const char *others, size_t n_others)
{
    size_t len = strlen(body), n = at;
    memcpy(to, body, at);
    if (how < n_others)
        to[n++] = others[how]; /* in its place */
    else if (how > n_others)
        to[n++] = body[at], to[n++] = body[at]; /* twice; else left out */
    memcpy(to + n, body + at + 1, len - at - 1);
    return n + len - at - 1;
}

START_TEST(whatever_is_read_the_general_parser_reads_alike)
{
    static const char others[] = { '"', '{', '}', ':', ',', '\\', ' ',    '0',
                                   'n', '-', '1', '.', 'e', '\0', '\x7f', '\xff' };
    const char *body = rows[_i].body;
    char changed[256];
    struct adp_plain plain;
    ck_assert_uint_lt(strlen(body) + 1, sizeof changed);
    for (size_t at = 0; at < strlen(body); at++)
        for (size_t how = 0; how < sizeof others + 2; how++) {
            size_t n = change(changed, body, at, how, others, sizeof others);
            if (reads(&plain, changed, n))
                ck_assert_msg(general_agrees(&plain, changed, n), "%.*s", (int)n,
                              changed);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plain");
    TCase *t = tcase_create("plain");
    tcase_add_loop_test(t, what_is_plain_is_read, 0, ROWS);
    tcase_add_loop_test(t, anything_else_is_left_to_the_general_parser, 0,
                        sizeof left / sizeof left[0]);
    tcase_add_test(t, a_nul_is_no_end);
    tcase_add_loop_test(t, whatever_is_read_the_general_parser_reads_alike, 0, ROWS);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
