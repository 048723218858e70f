/* SPDX-License-Identifier: MIT */
/* Each mark of the seven items rests on a key of the log: taken away, the mark is gone. */
#include "runtime/analysis/items.h"

#include "runtime/analysis/reader.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Run RUN: two requests, at 1 and 2 s, one of them refused; the other met its SLO. */
static const char *const decision =
    "{\"at\":%d,\"experiment\":\"e\",\"run\":\"RUN\",\"policy\":\"p\",\"params\":{\"t\":"
    "0.9},\"provenance\":{\"t\":\"fitted\"},\"request_id\":\"RUN-%d\",\"verdict\":\"%s\","
    "\"reason\":null,\"disclosure\":{\"model\":\"m\",\"engine\":\"v1\",\"hardware\":"
    "\"h\","
    "\"workload\":\"w\",\"slo\":{\"ttft_ms\":1500},\"capacity_rps\":0.5,"
    "\"unloaded_ttft_ms\":150}}";
static const char *const outcome =
    "{\"at\":3,\"request_id\":\"RUN-2\",\"outcome\":{\"ok\":true}}";
static const char *const baseline =
    "{\"at\":1,\"experiment\":\"e\",\"policy\":\"none\",\"baseline\":true,\"request_id\":"
    "\"b\",\"verdict\":\"admit\"}";

/* Replaces the first `old` of the text, which is NUL-terminated and has room. */
static bool replace(char *text, const char *old, const char *new)
{
    char *at = strstr(text, old);
    if (!at)
        return false;
    memmove(at + strlen(new), at + strlen(old), strlen(at + strlen(old)) + 1);
    memcpy(at, new, strlen(new));
    return true;
}

struct change {
    const char *old, *new; /* NULL: none */
    bool seen;
};

static void add_line(struct adp_tally *tally, struct adp_reader *reader, const char *file,
                     uint64_t offset, const char *line, const char *run,
                     struct change *change)
{
    char text[2048] = { 0 };
    struct adp_entry entry;
    enum adp_corrupt corrupt;
    uint32_t number;
    snprintf(text, sizeof text, "%s", line);
    while (replace(text, "RUN", run))
        ;
    if (change->old && replace(text, change->old, change->new))
        change->seen = true;
    ck_assert_int_eq(adp_tally_file(tally, file, &number), 0);
    adp_tally_line(tally, number);
    ck_assert_int_eq(adp_reader_line(reader, text, strlen(text), &entry, &corrupt), 1);
    ck_assert_int_eq(adp_tally_add(tally, number, offset, &entry), 0);
}

/* A tally of so many repeats and a baseline, every line changed as said. */
static struct adp_tally *tally_of(int repeats, struct change *change)
{
    struct adp_tally *tally = adp_tally_create();
    struct adp_reader *reader = adp_reader_create();
    for (int i = 0; i < repeats; i++) {
        char run[16], line[2048];
        snprintf(run, sizeof run, "r%d", i + 1);
        snprintf(line, sizeof line, decision, 1, 1, "reject");
        add_line(tally, reader, run, 0, line, run, change);
        snprintf(line, sizeof line, decision, 2, 2, "admit");
        add_line(tally, reader, run, 1, line, run, change);
        add_line(tally, reader, run, 2, outcome, run, change);
    }
    add_line(tally, reader, "b", 0, baseline, "", change);
    adp_reader_destroy(reader);
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    return tally;
}

static void items_of(const struct adp_tally *tally, struct adp_item *items)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    ck_assert_uint_ge(n, 1);
    adp_items_of(tally, &runs[0], items);
}

/* Rate: (2 - 1) / (2 - 1) = 1/s, twice capacity 0.5; 1500 / 150 = 10. */
START_TEST(each_mark_prints_the_fact_it_rests_on)
{
    static const char *const facts[ADP_ITEMS] = {
        "offered at 1 requests/s, 2.00 times capacity_rps 0.5",
        "the SLO of 1500 ms is 10.00 times unloaded_ttft_ms 150",
        "LIVE: it refused on 1 of 2 decisions",
        "3 repeats, goodput 0.500 to 0.500",
        "every parameter says where its value is from",
        "goodput is 1 that met the SLO over 2 offered: distinct request ids",
        "7 of 7 facts are there",
    };
    struct change none = { 0 };
    struct adp_item items[ADP_ITEMS];
    struct adp_tally *tally = tally_of(3, &none);
    items_of(tally, items);
    for (int i = 0; i < ADP_ITEMS; i++) {
        ck_assert_str_eq(items[i].fact, facts[i]);
        ck_assert_int_eq(items[i].evidence, ADP_ITEM_EVIDENCED);
    }
    ck_assert_str_eq(items[4].facts[0].name, "t");
    ck_assert_str_eq(items[4].facts[0].fact, "fitted");
    static const char *const seven[] = {
        "m", "v1", "h", "w", "2 requests at 1/s", "{\"ttft_ms\":1500}", "none"
    };
    ck_assert_uint_eq(items[6].n_facts, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_str_eq(items[6].facts[i].fact, seven[i]);
        ck_assert(items[6].facts[i].recorded);
    }
    adp_tally_destroy(tally);
}
END_TEST

/* Which item each change takes the mark from, and what it is then. */
static const struct {
    const char *old, *new;
    int item;
    enum adp_evidence then;
} changes[] = {
    { "\"capacity_rps\":0.5", "\"x\":0", 1, ADP_ITEM_NOT_RECORDED },
    { "\"at\":", "\"x\":", 1, ADP_ITEM_NOT_RECORDED },
    { "\"unloaded_ttft_ms\"", "\"x\"", 2, ADP_ITEM_NOT_RECORDED },
    { "\"ttft_ms\"", "\"x\"", 2, ADP_ITEM_NOT_RECORDED },
    { "\"ttft_ms\":1500", "\"ttft_ms\":100", 2, ADP_ITEM_FAILED },
    { "\"reject\"", "\"admit\"", 3, ADP_ITEM_FAILED },
    { "\"outcome\":{\"ok\":true}", "\"outcome\":{}", 4, ADP_ITEM_NOT_RECORDED },
    { "\"r2-2\",\"outcome\":{\"ok\":true}", "\"r2-2\",\"outcome\":{}", 4,
      ADP_ITEM_NOT_RECORDED }, /* of one of three */
    { "\"params\"", "\"x\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"policy\"", "\"x\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"params\":{\"t\":0.9}", "\"params\":{}", 5, ADP_ITEM_EVIDENCED },
    { "\"provenance\"", "\"x\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"fitted\"", "\"\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"fitted\"", "\"guessed\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"fitted\"", "\"inherited\"", 5, ADP_ITEM_EVIDENCED },
    { "\"provenance\":{\"t\"", "\"provenance\":{\"u\"", 5, ADP_ITEM_NOT_RECORDED },
    { "\"outcome\":{\"ok\":true}", "\"outcome\":{}", 6, ADP_ITEM_NOT_RECORDED },
    { "\"model\"", "\"x\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"engine\"", "\"x\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"hardware\"", "\"x\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"workload\"", "\"x\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"workload\":\"w\"", "\"workload\":\"\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"workload\":\"w\"", "\"workload\":\" \\t\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"workload\":\"w\"", "\"workload\":{}", 7, ADP_ITEM_NOT_RECORDED },
    { "\"workload\":\"w\"", "\"workload\":\"[]\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"slo\":{\"ttft_ms\":1500}", "\"slo\":[ ]", 7, ADP_ITEM_NOT_RECORDED },
    { "\"slo\":{\"ttft_ms\":1500}", "\"slo\":{ }", 7, ADP_ITEM_NOT_RECORDED },
    { "\"slo\"", "\"x\"", 7, ADP_ITEM_NOT_RECORDED },
    { "\"baseline\":true", "\"baseline\":false", 7, ADP_ITEM_NOT_RECORDED },
};

START_TEST(without_its_key_a_mark_is_gone)
{
    struct change change = { changes[_i].old, changes[_i].new, false };
    struct adp_item items[ADP_ITEMS];
    struct adp_tally *tally = tally_of(3, &change);
    items_of(tally, items);
    ck_assert(change.seen);
    ck_assert_msg(items[changes[_i].item - 1].evidence == changes[_i].then, "%s: %s",
                  changes[_i].old, items[changes[_i].item - 1].fact);
    adp_tally_destroy(tally);
}
END_TEST

/* What is there and is no capacity is said, and not that nothing is there. */
START_TEST(a_capacity_that_is_none_is_said_as_such)
{
    static const struct {
        const char *new, *fact;
    } rows[] = {
        { "\"capacity_rps\":0",
          "disclosure.capacity_rps is 0, which nothing can be held against" },
        { "\"capacity_rps\":-2",
          "disclosure.capacity_rps is -2, which nothing can be held against" },
        { "\"capacity_rps\":\"4\"", "no disclosure.capacity_rps that is a number" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct change change = { "\"capacity_rps\":0.5", rows[i].new, false };
        struct adp_item items[ADP_ITEMS];
        struct adp_tally *tally = tally_of(1, &change);
        items_of(tally, items);
        ck_assert_int_eq(items[0].evidence, ADP_ITEM_NOT_RECORDED);
        ck_assert_str_eq(items[0].fact, rows[i].fact);
        adp_tally_destroy(tally);
    }
}
END_TEST

START_TEST(a_spread_needs_three_repeats)
{
    static const enum adp_evidence expected[] = { ADP_ITEM_NOT_RECORDED, ADP_ITEM_FAILED,
                                                  ADP_ITEM_EVIDENCED,
                                                  ADP_ITEM_EVIDENCED };
    struct change none = { 0 };
    struct adp_item items[ADP_ITEMS];
    struct adp_tally *tally = tally_of(_i + 1, &none);
    items_of(tally, items);
    ck_assert_int_eq(items[3].evidence, expected[_i]);
    adp_tally_destroy(tally);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("items");
    TCase *t = tcase_create("items");
    tcase_add_test(t, each_mark_prints_the_fact_it_rests_on);
    tcase_add_loop_test(t, without_its_key_a_mark_is_gone, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(t, a_capacity_that_is_none_is_said_as_such);
    tcase_add_loop_test(t, a_spread_needs_three_repeats, 0, 4);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
