/* SPDX-License-Identifier: MIT */
#include "runtime/config/json.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *yaml, *json;
} values[] = {
    /* Scalars by YAML 1.2's core schema. */
    { "text", "\"text\"" },
    { "'1'", "\"1\"" },
    { "\"true\"", "\"true\"" },
    { "''", "\"\"" },
    { "~", "null" },
    { "null", "null" },
    { "true", "true" },
    { "FALSE", "false" },
    { "yes", "\"yes\"" },
    { "no", "\"no\"" },
    { "on", "\"on\"" },
    { "0", "0" },
    { "-7", "-7" },
    { "+7", "7" },
    { "007", "7" },
    { "1_000", "\"1_000\"" },
    { "0x10", "\"0x10\"" },
    { "0o17", "\"0o17\"" },
    { "1:30", "\"1:30\"" },
    { "9007199254740993", "9007199254740993" }, /* 2^53 + 1: no double holds it */
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "9223372036854775808", "9.223372036854776e+18" }, /* 2^63: as a double */
    { "0.9", "0.9" },                                   /* not 0.90000000000000002 */
    { "0.1", "0.1" },
    { ".5", "0.5" },
    { "-.5", "-0.5" },
    { "1e3", "1000" },
    { "nan", "\"nan\"" },
    { "inf", "\"inf\"" },
    { "-Infinity", "\"-Infinity\"" },
    { "v1.2", "\"v1.2\"" },
    { "1.2.3", "\"1.2.3\"" },
    { "12ms", "\"12ms\"" },
    /* Text is ASCII. */
    { "\"\\e[2J\\\"\\\\ \\n\"", "\"\\u001b[2J\\\"\\\\ \\u000a\"" },
    { "é", "\"\\u00e9\"" },
    { "😀", "\"\\ud83d\\ude00\"" },
    { "\"\\u2028\"", "\"\\u2028\"" },
    /* Structures keep their order; nothing is blank. */
    { "{}", "{}" },
    { "[]", "[]" },
    { "{ z: 1, a: 2, m: [ 1, x, [ ] ] }", "{\"z\":1,\"a\":2,\"m\":[1,\"x\",[]]}" },
    { "{ 1: a, true: b, ~: c }", "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\"}" },
    { "{ \"a\\nb\": 1 }", "{\"a\\u000ab\":1}" },
    { "- a\n- b: c\n  d: e\n", "[\"a\",{\"b\":\"c\",\"d\":\"e\"}]" },
    { "|\n  two\n  lines\n", "\"two\\u000alines\\u000a\"" },
    { "{ a: &x [1], b: *x }", "{\"a\":[1],\"b\":[1]}" },
};

/* Reads `yaml` and writes it as JSON into `to`. Returns how many mistakes were told. */
static uint32_t convert(const char *yaml, char *to, size_t cap)
{
    struct adp_arena arena = { 0 };
    struct adp_errors errors = { 0 };
    struct adp_doc doc = {
        .file = "t", .folder = "/", .arena = &arena, .errors = &errors
    };
    const struct adp_node *root = NULL;
    ck_assert(adp_tree_read(&root, yaml, strlen(yaml), &doc));
    const char *json = adp_json_of(&doc, root);
    ck_assert_ptr_nonnull(json);
    ck_assert_uint_lt(strlen(json), cap);
    memcpy(to, json, strlen(json) + 1);
    uint32_t n = errors.n;
    ck_assert_int_eq(doc.failed, n > 0);
    adp_errors_free(&errors);
    adp_arena_finish(&arena);
    return n;
}

START_TEST(json_says_what_the_yaml_says)
{
    char json[256];
    ck_assert_uint_eq(convert(values[_i].yaml, json, sizeof json), 0);
    ck_assert_str_eq(json, values[_i].json);
}
END_TEST

static const char *const not_finite[] = { ".inf", "-.inf", "+.Inf", ".NAN", "1e999" };

START_TEST(what_json_cannot_hold_is_told_and_stands_as_null)
{
    char json[256];
    ck_assert_uint_eq(convert(not_finite[_i], json, sizeof json), 1);
    ck_assert_str_eq(json, "null");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_loop_test(t, json_says_what_the_yaml_says, 0,
                        sizeof values / sizeof values[0]);
    tcase_add_loop_test(t, what_json_cannot_hold_is_told_and_stands_as_null, 0,
                        sizeof not_finite / sizeof not_finite[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
