/* SPDX-License-Identifier: MIT */
#include "core/error.h"
#include "runtime/analysis/reader.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adp_reader *reader;
static struct adp_entry entry;
static enum adp_corrupt corrupt;
static char *padded;

static void setup(void)
{
    reader = adp_reader_create();
    ck_assert_ptr_nonnull(reader);
}

static void teardown(void)
{
    adp_reader_destroy(reader);
    free(padded);
    padded = NULL;
}

/* Exactly the padding asked for, and not zeros: it must not matter what it holds. */
static int read_bytes(const char *line, size_t len)
{
    free(padded);
    padded = malloc(len + ADP_READER_PADDING);
    memcpy(padded, line, len);
    memset(padded + len, '"', ADP_READER_PADDING);
    return adp_reader_line(reader, padded, len, &entry, &corrupt);
}

static int read_text(const char *line)
{
    return read_bytes(line, strlen(line));
}

static bool is(struct adp_text text, const char *expected)
{
    if (!text.text || !expected)
        return !text.text && !expected;
    return text.len == strlen(expected) && memcmp(text.text, expected, text.len) == 0;
}

/* ---- which kind -----------------------------------------------------------------------
 */

static const struct {
    const char *line;
    int kind; /* enum adp_entry_kind; 0: corrupt */
    enum adp_corrupt corrupt;
} kinds[] = {
    { "{\"verdict\":\"admit\"}", ADP_ENTRY_DECISION, 0 },
    { "{\"verdict\":\"defer\",\"outcome\":{}}", ADP_ENTRY_DECISION, 0 },
    { "{\"outcome\":{},\"signals\":{}}", ADP_ENTRY_OUTCOME, 0 },
    { "{\"dropped\":{\"count\":3}}", ADP_ENTRY_LOSS, 0 },
    { "{\"scrape_error\":\"x\",\"signals\":{}}", ADP_ENTRY_SCRAPE_ERROR, 0 },
    { "{\"signals\":{}}", ADP_ENTRY_STATE, 0 },
    { " {\"signals\":{}}\t\r", ADP_ENTRY_STATE, 0 },
    { "{}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"metrics\":{}}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"verdict\":\"perhaps\"}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"verdict\":null,\"signals\":{}}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"outcome\":[]}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"dropped\":{}}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"dropped\":{\"count\":-1}}", 0, ADP_CORRUPT_UNKNOWN },
    { "{\"signals\":null}", 0, ADP_CORRUPT_UNKNOWN },
    { "[{\"verdict\":\"admit\"}]", 0, ADP_CORRUPT_NOT_OBJECT },
    { "\"verdict\"", 0, ADP_CORRUPT_NOT_OBJECT },
    { "3", 0, ADP_CORRUPT_NOT_OBJECT },
    { "NaN", 0, ADP_CORRUPT_NOT_OBJECT }, /* Python's own reading: a value, no object */
    { "null", 0, ADP_CORRUPT_NOT_OBJECT },
    { "{\"verdict\":\"admit\"", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\"}}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\"} {\"verdict\":\"admit\"}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",}", 0, ADP_CORRUPT_NOT_JSON },
    { "{'verdict':'admit'}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":admit}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":01}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":[1 2]}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":[1,2}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":truu}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":\"\\q\"}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":\"a\tb\"}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":\"\xff\"}", 0, ADP_CORRUPT_NOT_UTF8 },
    { "{\"verdict\":\"admit\",\"x\":\"\xc0\x80\"}", 0, ADP_CORRUPT_NOT_UTF8 },
    { "\xff\xfe{\0", 0, ADP_CORRUPT_NOT_UTF8 },
    /* Only whole tokens in the place of a value are NaN or infinite. */
    { "{\"verdict\":\"admit\",\"at\":NaN}", ADP_ENTRY_DECISION, 0 },
    { "{\"verdict\":\"admit\",\"at\": -Infinity }", ADP_ENTRY_DECISION, 0 },
    { "{\"verdict\":\"admit\",\"at\":NaNs}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":1NaN}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":--Infinity}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":+Infinity}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":-NaN}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":nan}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":NaN NaN}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",NaN:1}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":\"x\"NaN}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":NaN", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":NaN,\"x\":01}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"at\":1e999}", ADP_ENTRY_DECISION, 0 },
    { "{\"verdict\":\"admit\",\"at\":1e999.}", 0, ADP_CORRUPT_NOT_JSON },
    { "{\"verdict\":\"admit\",\"x\":\"\\ud800\"}", ADP_ENTRY_DECISION, 0 },
    { "{\"verdict\":\"admit\",\"x\":\"\\ud800\\q\"}", 0, ADP_CORRUPT_NOT_JSON },
};

START_TEST(a_line_is_one_of_five_kinds_or_counted)
{
    int read = read_text(kinds[_i].line);
    ck_assert_int_eq(read, kinds[_i].kind != 0);
    if (read)
        ck_assert_int_eq((int)entry.kind, kinds[_i].kind);
    else
        ck_assert_int_eq(corrupt, kinds[_i].corrupt);
}
END_TEST

/* ---- what it says ---------------------------------------------------------------------
 */

START_TEST(a_decision_is_read_whole)
{
    ck_assert_int_eq(
        read_text(
            "{\"at\":12.5,\"v\":1,\"instance\":\"00ff\",\"lane\":2,\"seq\":7,"
            "\"experiment\":\"e\",\"run\":\"r1\",\"notes\":\"n\",\"policy\":\"p\","
            "\"baseline\":true,\"config\":\"c\",\"params\":{\"t\":0.9,\"w\":\"x\"},"
            "\"card\":{\"signal_quantity\":\"kv_pressure\",\"gates\":[{\"rule\":1,"
            "\"signal\":\"s\",\"op\":\">=\",\"param\":\"t\"},{\"rule\":0,\"signal\":"
            "\"u\",\"op\":\"=~\",\"param\":null}]},\"request_id\":\"\\u00e9\","
            "\"id\":\"0a\",\"signals\":{\"s\":0.5,\"u\":null,\"n\":3},\"verdict\":"
            "\"defer\",\"reason\":\"queue_depth\",\"enforced\":false,\"fault\":\"f\","
            "\"disclosure\":{\"model\":\"m\",\"slo\":{\"ttft_ms\":1500}},\"role\":"
            "\"shadow\",\"margin\":-0.25}"),
        1);
    ck_assert_int_eq(entry.kind, ADP_ENTRY_DECISION);
    ck_assert_double_eq(entry.at, 12.5);
    ck_assert(is(entry.instance, "00ff") && entry.lane == 2 && entry.seq == 7);
    ck_assert(is(entry.experiment, "e") && is(entry.run, "r1") && is(entry.notes, "n"));
    ck_assert(is(entry.policy, "p") && is(entry.config, "c") && entry.baseline);
    ck_assert_uint_eq(entry.n_params, 2);
    ck_assert(is(entry.params[0].name, "t"));
    ck_assert_double_eq(entry.params[0].value, 0.9);
    ck_assert(isnan(entry.params[1].value) && is(entry.params[1].word, "\"x\""));
    ck_assert(entry.has_gates && is(entry.signal_quantity, "kv_pressure"));
    ck_assert_uint_eq(entry.n_gates, 2);
    ck_assert_uint_eq(entry.gates[0].rule, 1);
    ck_assert_uint_eq(entry.gates[0].op, ADP_GE);
    ck_assert(is(entry.gates[0].signal, "s") && is(entry.gates[0].param, "t"));
    ck_assert_uint_eq(entry.gates[1].op, 0);
    ck_assert(is(entry.gates[1].param, NULL));
    ck_assert(is(entry.request_id, "\xc3\xa9") && is(entry.handle, "0a"));
    ck_assert_uint_eq(entry.n_signals, 3);
    ck_assert_double_eq(entry.signals[0].value, 0.5);
    ck_assert(isnan(entry.signals[1].value));
    ck_assert_double_eq(entry.signals[2].value, 3);
    ck_assert_int_eq(entry.verdict, ADP_DEFER);
    ck_assert(is(entry.reason, "queue_depth"));
    ck_assert(!entry.enforced && entry.fault && entry.shadow);
    ck_assert_double_eq(entry.slo_ttft_ms, 1500);
    ck_assert_double_eq(entry.margin, -0.25);
}
END_TEST

/* Twice, then with other values: by the parser, and by the shape it has learned. */
START_TEST(readings_per_replica_are_columns)
{
    static const char *const lines[] = {
        "{\"signals\":{\"s\":1},\"replicas\":{\"s\":[0.5,null,1],\"t\":[2,3,null]}}",
        "{\"signals\":{\"s\":1},\"replicas\":{\"s\":[0.5,null,1],\"t\":[2,3,null]}}",
        "{\"signals\":{\"s\":1},\"replicas\":{\"s\":[0.5,NaN,1],\"t\":[2,3,null]}}",
    };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(read_text(lines[i]), 1);
        ck_assert_uint_eq(entry.n_replicas, 2);
        ck_assert(is(entry.replicas[0].name, "s") && is(entry.replicas[1].name, "t"));
        ck_assert_uint_eq(entry.replicas[0].n, 3);
        ck_assert_double_eq(entry.replicas[0].value[0], 0.5);
        ck_assert(isnan(entry.replicas[0].value[1]));
        ck_assert_double_eq(entry.replicas[0].value[2], 1);
        ck_assert_double_eq(entry.replicas[1].value[0], 2);
        ck_assert(isnan(entry.replicas[1].value[2]));
    }
    ck_assert_int_eq(read_text("{\"signals\":{\"s\":1},\"replicas\":{\"s\":[7,8,9],\"t\":"
                               "[null,null,4]}}"),
                     1);
    ck_assert_double_eq(entry.replicas[0].value[1], 8);
    ck_assert_double_eq(entry.replicas[1].value[2], 4);
}
END_TEST

START_TEST(replicas_of_another_form_are_none)
{
    static const char *const lines[] = { "[1]", "3", "null", "{\"s\":1,\"t\":\"x\"}" };
    char line[128];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(line, sizeof line, "{\"signals\":{},\"replicas\":%s}", lines[i]);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(read_text(line), 1);
            ck_assert_uint_eq(entry.n_replicas, 0);
        }
    }
}
END_TEST

/* Also of the lines behind the first, which are read by its shape. */
START_TEST(a_line_may_say_that_its_metrics_are_left_out)
{
    char line[128];
    for (int n = 1; n <= 3; n++) {
        snprintf(line, sizeof line,
                 "{\"verdict\":\"admit\",\"metrics_omitted\":%d,\"signals\":{\"s\":%d}}",
                 n, n);
        ck_assert_int_eq(read_text(line), 1);
        ck_assert(entry.metrics_omitted);
        ck_assert_double_eq(entry.signals[0].value, n);
        ck_assert_int_eq(read_text("{\"verdict\":\"admit\",\"signals\":{\"s\":1}}"), 1);
        ck_assert(!entry.metrics_omitted);
    }
}
END_TEST

START_TEST(what_a_line_does_not_say_is_absent)
{
    ck_assert_int_eq(read_text("{\"verdict\":\"admit\"}"), 1);
    ck_assert(isnan(entry.at) && entry.lane == -1 && entry.seq == -1);
    ck_assert(is(entry.instance, NULL) && is(entry.experiment, NULL));
    ck_assert(is(entry.run, NULL) && is(entry.policy, NULL) && is(entry.config, NULL));
    ck_assert(is(entry.request_id, NULL) && is(entry.handle, NULL));
    ck_assert(is(entry.reason, NULL) && !entry.baseline && !entry.fault && !entry.shadow);
    ck_assert(entry.enforced); /* it was the answer */
    ck_assert(isnan(entry.margin) && isnan(entry.slo_ttft_ms) && !entry.has_gates);
    ck_assert_uint_eq(entry.n_signals + entry.n_params + entry.n_gates, 0);
    ck_assert_int_eq(read_text("{\"outcome\":{}}"), 1);
    ck_assert(isnan(entry.ttft_ms) && entry.ok == -1);
}
END_TEST

/* A value of the wrong type is absent, and no reason to throw the line away. */
START_TEST(what_a_line_says_wrongly_is_absent)
{
    ck_assert_int_eq(
        read_text("{\"verdict\":\"admit\",\"at\":\"noon\",\"lane\":-1,\"seq\":"
                  "1.5,\"signals\":[1],\"params\":3,\"card\":[],\"fault\":null,"
                  "\"margin\":true,\"disclosure\":\"x\",\"role\":4}"),
        1);
    ck_assert(isnan(entry.at) && entry.lane == -1 && entry.seq == -1);
    ck_assert(isnan(entry.margin) && isnan(entry.slo_ttft_ms) && !entry.fault);
    ck_assert_uint_eq(entry.n_signals + entry.n_params, 0);
}
END_TEST

START_TEST(one_line_leaves_nothing_to_the_next)
{
    ck_assert_int_eq(read_text("{\"verdict\":\"reject\",\"signals\":{\"s\":1},\"params\":"
                               "{\"t\":1},\"fault\":\"f\",\"run\":\"r\"}"),
                     1);
    ck_assert_int_eq(read_text("{\"verdict\":\"admit\"}"), 1);
    ck_assert_uint_eq(entry.n_signals + entry.n_params, 0);
    ck_assert(!entry.fault && is(entry.run, NULL));
}
END_TEST

/* ---- numbers --------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    double value; /* NaN: absent */
    uint32_t not_finite;
} numbers[] = {
    { "0", 0, 0 },
    { "-0.0", 0, 0 },
    { "7", 7, 0 },
    { "1e3", 1000, 0 },
    { "18446744073709551615", 18446744073709551615.0, 0 },
    { "-9223372036854775808", -9223372036854775808.0, 0 },
    { "123456789012345678901234567890", 123456789012345678901234567890.0, 0 },
    { "-123456789012345678901234567890", -123456789012345678901234567890.0, 0 },
    { "0.95000000000000000000", 0.95, 0 }, /* 20 digits: on-demand would read 0.0277 */
    { "0.1000000000000000055511151231257827", 0.1, 0 },
    { "1e999", NAN, 1 },
    { "-1e999", NAN, 1 },
    { "1e-999", 0, 0 },
    { "NaN", NAN, 1 },
    { "Infinity", NAN, 1 },
    { "-Infinity", NAN, 1 },
    { "null", NAN, 0 },
    { "true", NAN, 0 },
    { "\"1\"", NAN, 0 },
    { "\"NaN\"", NAN, 0 },
    { "{}", NAN, 0 },
};

START_TEST(numbers_are_read_in_every_form)
{
    char line[256];
    snprintf(line, sizeof line, "{\"signals\":{\"s\":%s}}", numbers[_i].text);
    ck_assert_int_eq(read_text(line), 1);
    ck_assert_uint_eq(entry.n_signals, 1);
    double value = entry.signals[0].value;
    ck_assert(isnan(numbers[_i].value) ? isnan(value) : value == numbers[_i].value);
    ck_assert_uint_eq(entry.not_finite, numbers[_i].not_finite);
}
END_TEST

/* The words may stand in strings, beside tokens that do have to go. */
START_TEST(nan_in_a_string_is_a_string)
{
    ck_assert_int_eq(
        read_text("{\"verdict\":\"admit\",\"run\":\"a \\\" NaN, Infinity\","
                  "\"policy\":\"\\\\\",\"at\":NaN,\"signals\":{\"NaN\":1,\"b\":"
                  "Infinity}}"),
        1);
    ck_assert(is(entry.run, "a \" NaN, Infinity") && is(entry.policy, "\\"));
    ck_assert(isnan(entry.at) && is(entry.signals[0].name, "NaN"));
    ck_assert_double_eq(entry.signals[0].value, 1);
    ck_assert(isnan(entry.signals[1].value));
    ck_assert_uint_eq(entry.not_finite, 2);
}
END_TEST

START_TEST(surrogates_are_read_when_paired_and_replaced_when_not)
{
    ck_assert_int_eq(
        read_text("{\"verdict\":\"admit\",\"run\":\"\\ud83d\\ude00\",\"policy\":"
                  "\"a\\udc80b\\ud83dc\\ud83d\\ude00\"}"),
        1);
    ck_assert(is(entry.run, "\xf0\x9f\x98\x80"));
    ck_assert(is(entry.policy, "a\xef\xbf\xbd"
                               "b\xef\xbf\xbd"
                               "c\xf0\x9f\x98\x80"));
}
END_TEST

START_TEST(ids_and_names_may_be_numbers)
{
    ck_assert_int_eq(read_text("{\"verdict\":\"admit\",\"request_id\":42,\"run\":1.5}"),
                     1);
    ck_assert(is(entry.request_id, "42") && is(entry.run, "1.5"));
}
END_TEST

static const struct {
    const char *text;
    int ok;
} oks[] = { { "true", 1 },  { "false", 0 }, { "1", 1 },       { "0", 0 },
            { "null", -1 }, { "[]", -1 },   { "\"yes\"", -1 } };

START_TEST(ok_is_a_truth_a_number_or_unknown)
{
    char line[128];
    snprintf(line, sizeof line, "{\"outcome\":{\"ok\":%s,\"ttft_ms\":418}}",
             oks[_i].text);
    ck_assert_int_eq(read_text(line), 1);
    ck_assert_int_eq(entry.ok, oks[_i].ok);
    ck_assert_double_eq(entry.ttft_ms, 418);
}
END_TEST

START_TEST(nesting_beyond_reason_is_corrupt_not_fatal)
{
    enum { DEEP = 100000 };
    char *line = malloc(DEEP + 64);
    size_t n = (size_t)snprintf(line, 64, "{\"verdict\":\"admit\",\"x\":");
    memset(line + n, '[', DEEP);
    ck_assert_int_eq(read_bytes(line, n + DEEP), 0);
    ck_assert_int_eq(corrupt, ADP_CORRUPT_NOT_JSON);
    free(line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader");
    TCase *t = tcase_create("reader");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_line_is_one_of_five_kinds_or_counted, 0,
                        sizeof kinds / sizeof *kinds);
    tcase_add_test(t, a_decision_is_read_whole);
    tcase_add_test(t, readings_per_replica_are_columns);
    tcase_add_test(t, replicas_of_another_form_are_none);
    tcase_add_test(t, a_line_may_say_that_its_metrics_are_left_out);
    tcase_add_test(t, what_a_line_does_not_say_is_absent);
    tcase_add_test(t, what_a_line_says_wrongly_is_absent);
    tcase_add_test(t, one_line_leaves_nothing_to_the_next);
    tcase_add_loop_test(t, numbers_are_read_in_every_form, 0,
                        sizeof numbers / sizeof *numbers);
    tcase_add_test(t, nan_in_a_string_is_a_string);
    tcase_add_test(t, surrogates_are_read_when_paired_and_replaced_when_not);
    tcase_add_test(t, ids_and_names_may_be_numbers);
    tcase_add_loop_test(t, ok_is_a_truth_a_number_or_unknown, 0,
                        sizeof oks / sizeof *oks);
    tcase_add_test(t, nesting_beyond_reason_is_corrupt_not_fatal);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
