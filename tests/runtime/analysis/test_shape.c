/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/shape.h"

#include "core/error.h"
#include "runtime/analysis/reader.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a reader that has learned says is what one that has not says ------------------
 */

static const char *const lines[] = {
    "{\"at\": 1790000000.25, \"experiment\": \"e\", \"run\": \"r1\", \"notes\": null, "
    "\"policy\": \"p\", \"baseline\": false, \"params\": {\"threshold\": 0.9, \"x\": "
    "\"w\"}, \"card\": {\"signal_quantity\": \"kv_pressure\", \"gates\": [{\"rule\": 0, "
    "\"signal\": \"kv_pressure\", \"op\": \">=\", \"param\": \"threshold\"}]}, "
    "\"request_id\": \"abcdefgh12345678\", \"metrics\": {\"a:b\": 12, \"c\": 0.5}, "
    "\"signals\": {\"kv_pressure\": 0.61286883966572747, \"queue_depth\": null}, "
    "\"sources\": {\"kv_pressure\": \"a:b\"}, \"verdict\": \"reject\", \"reason\": "
    "\"kv_pressure\", \"status\": 503, \"enforced\": true, \"fault\": null, \"margin\": "
    "-1.5, \"request\": {\"tenant\": \"acme\", \"priority\": 2, \"prompt_tokens\": "
    "100}, \"role\": \"governing\", \"lane\": 1, \"seq\": 17}",
    "{\"at\":5,\"request_id\":\"abc\",\"id\":\"01\",\"outcome\":{\"ttft_ms\":418.25,"
    "\"ok\":"
    "true,\"end\":\"done\",\"extra\":[1,{\"b\":\"c\"}]}}",
    "{\"at\":5,\"snapshot\":3,\"metrics\":{\"m\":1},\"signals\":{\"q\":NaN,\"r\":-0.0}}",
};
enum { LINES = sizeof lines / sizeof *lines };

static bool same_text(struct adp_text a, struct adp_text b)
{
    if (!a.text || !b.text)
        return !a.text && !b.text;
    return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* To the last bit, NaN being NaN. */
static bool same_number(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

static void check_same_arrays(const struct adp_entry *a, const struct adp_entry *b)
{
    ck_assert_uint_eq(a->n_signals, b->n_signals);
    for (size_t i = 0; i < a->n_signals; i++) {
        ck_assert(same_text(a->signals[i].name, b->signals[i].name));
        ck_assert(same_number(a->signals[i].value, b->signals[i].value));
    }
    ck_assert_uint_eq(a->n_params, b->n_params);
    for (size_t i = 0; i < a->n_params; i++) {
        ck_assert(same_text(a->params[i].name, b->params[i].name));
        ck_assert(same_text(a->params[i].word, b->params[i].word));
        ck_assert(same_number(a->params[i].value, b->params[i].value));
    }
    ck_assert_uint_eq(a->n_gates, b->n_gates);
    for (size_t i = 0; i < a->n_gates; i++) {
        ck_assert(same_text(a->gates[i].signal, b->gates[i].signal));
        ck_assert(same_text(a->gates[i].param, b->gates[i].param));
        ck_assert_uint_eq(a->gates[i].op, b->gates[i].op);
    }
}

static void check_same(const struct adp_entry *a, const struct adp_entry *b)
{
    ck_assert_int_eq(a->kind, b->kind);
    ck_assert(same_number(a->at, b->at));
    ck_assert_int_eq(a->lane, b->lane);
    ck_assert_int_eq(a->seq, b->seq);
    ck_assert_uint_eq(a->not_finite, b->not_finite);
    ck_assert(same_text(a->experiment, b->experiment) && same_text(a->run, b->run));
    ck_assert(same_text(a->notes, b->notes) && same_text(a->policy, b->policy));
    ck_assert(same_text(a->request_id, b->request_id) && same_text(a->handle, b->handle));
    ck_assert(same_text(a->reason, b->reason));
    ck_assert(same_text(a->signal_quantity, b->signal_quantity));
    ck_assert(same_text(a->facts.tenant, b->facts.tenant));
    ck_assert(same_number(a->facts.priority, b->facts.priority));
    ck_assert(same_number(a->facts.prompt_tokens, b->facts.prompt_tokens));
    ck_assert_int_eq(a->baseline, b->baseline);
    ck_assert_int_eq(a->verdict, b->verdict);
    ck_assert_int_eq(a->enforced, b->enforced);
    ck_assert_int_eq(a->shadow, b->shadow);
    ck_assert_int_eq(a->fault, b->fault);
    ck_assert(same_number(a->margin, b->margin));
    ck_assert(same_number(a->ttft_ms, b->ttft_ms));
    ck_assert_int_eq(a->ttft_given, b->ttft_given);
    ck_assert_int_eq(a->ok, b->ok);
    ck_assert_uint_eq(a->end, b->end);
    check_same_arrays(a, b);
}

static int read_padded(struct adp_reader *reader, const char *line, size_t len, char *to,
                       struct adp_entry *ret, enum adp_corrupt *corrupt)
{
    memcpy(to, line, len);
    memset(to + len, '"', ADP_READER_PADDING);
    return adp_reader_line(reader, to, len, ret, corrupt);
}

/* Reads `line` with the reader that has learned and with a new one. */
static void read_both(struct adp_reader *learned, const char *line, size_t len)
{
    struct adp_entry a, b;
    enum adp_corrupt why = 0, because = 0;
    char one[4096], two[4096];
    struct adp_reader *fresh = adp_reader_create();
    int said = read_padded(learned, line, len, one, &a, &why);
    int says = read_padded(fresh, line, len, two, &b, &because);
    ck_assert_msg(said == says, "%d and %d: %.*s", said, says, (int)len, line);
    if (said)
        check_same(&a, &b);
    else
        ck_assert_int_eq(why, because);
    adp_reader_destroy(fresh);
}

/* A reader that has read each line twice: the second time by its shape. */
static struct adp_reader *taught(void)
{
    struct adp_reader *reader = adp_reader_create();
    for (int i = 0; i < 2 * LINES; i++) {
        struct adp_entry entry;
        enum adp_corrupt corrupt;
        char to[4096];
        const char *line = lines[i / 2];
        ck_assert_int_eq(read_padded(reader, line, strlen(line), to, &entry, &corrupt),
                         1);
        ck_assert_int_eq(entry.print != 0, i % 2);
    }
    return reader;
}

/* Each byte replaced, by each of these in turn; left out; and doubled. A teacher that saw
 * a broken line could break later ones, so each mutant meets a reader taught anew. */
START_TEST(a_known_shape_lets_nothing_pass_that_the_parser_refuses)
{
    static const char by[] = "\"\\{}[],:.0 \x01\x80-eNa";
    const char *line = lines[_i];
    size_t len = strlen(line);
    char mutant[4096];
    struct adp_reader *reader = taught();
    for (size_t at = 0; at < len; at++) {
        for (size_t k = 0; k < sizeof by - 1; k++) {
            memcpy(mutant, line, len);
            mutant[at] = by[k];
            read_both(reader, mutant, len);
        }
        memcpy(mutant, line, at);
        memcpy(mutant + at, line + at + 1, len - at - 1);
        read_both(reader, mutant, len - 1);
        memcpy(mutant + at, line + at, len - at);
        memmove(mutant + at + 1, mutant + at, len - at);
        read_both(reader, mutant, len + 1);
    }
    adp_reader_destroy(reader);
}
END_TEST

/* What stands in place of 418.25, and of "abc" in the second line. */
static const char *const scalars[] = {
    "0",
    "-0",
    "0.0",
    "-0.0",
    "1e3",
    "-1E+2",
    "01",
    ".5",
    "5.",
    "-",
    "1.",
    "+1",
    "true",
    "false",
    "null",
    "NaN",
    "Infinity",
    "-Infinity",
    "-NaN",
    "nul",
    "truex",
    "\"\"",
    "\"a\\\"b\"",
    "\"\\u00e4\"",
    "\"\xc3\xa4\"",
    "\"\xff\"",
    "\"a\nb\"",
    "\"\\ud800\"",
    "\"",
    "{}",
    "[]",
    "1 2",
    "1e999",
    "9007199254740993",
    "123456789012345678",
    "1234567890123456789",
    "12345678901234567890",
    "0.61286883966572747",
    "0.95000000000000000000",
    "100000000000000000.5",
    "0.000000000000000001",
    "0.012345678901234567",
    "0.0012345678901234567",
    "-0.00056789012345678901",
    "0.1234567",
    "0.12345678",
    "12345678.87654321",
    "0.1234567/",
    "0.12345678:",
    "1234567890.12345678901234567890123456789",
    "0.12345678901234567890123456789012345678",
    "0.123456789012345678901234567890123456789",
    "0.1234567890123456789012345678901234567890123",
    "0.00012345678901234567e1",
    "-123456.789012345678",
    "\"a string of more than eight\"",
    "\"a string of \x7f\"",
    "\"seven..\xe2\x82\"",
    "[1,2",
};

START_TEST(a_scalar_of_any_kind_is_read_as_the_parser_reads_it)
{
    struct adp_reader *reader = taught();
    char line[512];
    snprintf(line, sizeof line,
             "{\"at\":5,\"request_id\":\"abc\",\"id\":\"01\",\"outcome\":{\"ttft_ms\":%s,"
             "\"ok\":true,\"end\":\"done\",\"extra\":[1,{\"b\":\"c\"}]}}",
             scalars[_i]);
    read_both(reader, line, strlen(line));
    snprintf(line, sizeof line,
             "{\"at\":5,\"request_id\":%s,\"id\":\"01\",\"outcome\":{\"ttft_ms\":1,"
             "\"ok\":%s,\"end\":%s,\"extra\":[%s,{\"b\":\"c\"}]}}",
             scalars[_i], scalars[_i], scalars[_i], scalars[_i]);
    read_both(reader, line, strlen(line));
    snprintf(
        line, sizeof line,
        "{\"at\":%s,\"snapshot\":%s,\"metrics\":{\"m\":%s},\"signals\":{\"q\":%s,\"r\":"
        "-0.0}}",
        scalars[_i], scalars[_i], scalars[_i], scalars[_i]);
    read_both(reader, line, strlen(line));
    adp_reader_destroy(reader);
}
END_TEST

/* Which of two equal keys counts is the parser's to say, for the line learned from too. */
START_TEST(a_key_that_stands_twice_is_left_to_the_parser)
{
    static const char *const twice[] = {
        "{\"verdict\":\"admit\",\"verdict\":\"reject\"}",
        "{\"verdict\":\"admit\",\"at\":1,\"at\":2}",
        "{\"outcome\":{\"ttft_ms\":1},\"outcome\":{\"ttft_ms\":2}}",
        "{\"signals\":{\"a\":1},\"signals\":{\"b\":2}}",
        "{\"signals\":{\"a\":1,\"a\":2}}",
    };
    struct adp_reader *reader = adp_reader_create();
    for (int again = 0; again < 3; again++)
        for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
            read_both(reader, twice[i], strlen(twice[i]));
    adp_reader_destroy(reader);
}
END_TEST

/* More shapes than are kept, several times round. */
START_TEST(shapes_without_end_are_read_all_the_same)
{
    struct adp_reader *reader = adp_reader_create();
    char line[128];
    for (int i = 0; i < 2000; i++) {
        snprintf(line, sizeof line, "{\"at\":%d,\"verdict\":\"admit\",\"run\":\"r%d\"}",
                 i, i % 150);
        read_both(reader, line, strlen(line));
    }
    adp_reader_destroy(reader);
}
END_TEST

/* ---- the shape itself -------------------------------------------------------------------
 */

static int all_slots(const struct adp_shape_path *path, void *context)
{
    (void)context;
    return path->depth && path->key[path->depth - 1] && path->len[path->depth - 1] == 3
               ? ADP_SHAPE_LITERAL
               : 7;
}

START_TEST(slots_take_scalars_and_literals_must_come_again)
{
    static const char line[] = "{\"a\":1.50,\"lit\":5,\"b\":[\"x\",null]}";
    struct adp_token tokens[4];
    struct adp_shape *shape = adp_shape_create(line, strlen(line), all_slots, NULL);
    ck_assert_ptr_nonnull(shape);
    ck_assert_uint_eq(adp_shape_slots(shape), 3);
    ck_assert_int_eq(adp_shape_number(shape, 0), 7);
    ck_assert(adp_shape_match(shape, line, strlen(line), tokens));
    ck_assert_int_eq(tokens[0].kind, ADP_TOKEN_NUMBER);
    ck_assert_uint_eq(tokens[0].mantissa, 150);
    ck_assert_uint_eq(tokens[0].decimals, 2);
    ck_assert_int_eq(tokens[1].kind, ADP_TOKEN_TEXT);
    ck_assert_int_eq(tokens[2].kind, ADP_TOKEN_NULL);
    static const char other[] = "{\"a\":\"\",\"lit\":5,\"b\":[false,-7]}";
    ck_assert(adp_shape_match(shape, other, strlen(other), tokens));
    ck_assert_int_eq(tokens[1].kind, ADP_TOKEN_FALSE);
    ck_assert(tokens[2].negative && tokens[2].integer);
    static const char differs[] = "{\"a\":\"\",\"lit\":6,\"b\":[false,-7]}";
    ck_assert(!adp_shape_match(shape, differs, strlen(differs), tokens));
    for (size_t len = 0; len < strlen(line); len++)
        ck_assert(!adp_shape_match(shape, line, len, tokens));
    adp_shape_destroy(shape);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *t = tcase_create("shape");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_known_shape_lets_nothing_pass_that_the_parser_refuses, 0,
                        LINES);
    tcase_add_loop_test(t, a_scalar_of_any_kind_is_read_as_the_parser_reads_it, 0,
                        sizeof scalars / sizeof *scalars);
    tcase_add_test(t, a_key_that_stands_twice_is_left_to_the_parser);
    tcase_add_test(t, shapes_without_end_are_read_all_the_same);
    tcase_add_test(t, slots_take_scalars_and_literals_must_come_again);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
