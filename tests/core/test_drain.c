/* SPDX-License-Identifier: MIT */
#include "tests/core/stage.h"

#include <math.h>

static struct stage stage;

static void admits(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static const struct adp_policy policy = { ADP_HEAD, .name = "admits",
                                          .threading = ADP_CONCURRENT, .decide = admits };

static void setup(void)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    stage_open(&stage, policies, 1 << 16, 16);
}

static void teardown(void)
{
    stage_close(&stage);
}

static size_t count(json_t *all, const char *key)
{
    size_t n = 0, at;
    json_t *line;
    json_array_foreach(all, at, line) n += json_object_get(line, key) != NULL;
    return n;
}

static uint64_t number(json_t *line, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(line, key));
}

START_TEST(every_decision_is_there_once_in_order)
{
    for (int i = 0; i < 100; i++)
        stage_decide(&stage, "r");
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 100);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(number(stage_line(all, "verdict", i), "seq"), i);
    json_decref(all);
}
END_TEST

START_TEST(a_gap_becomes_one_line_with_the_exact_count)
{
    unsigned made = 0;
    while (stage.lane[0]->decisions < 1000) {
        stage_decide(&stage, "r");
        made++;
    }
    uint64_t lost = adp_region_ring(stage.region, 1)->dropped;
    ck_assert_uint_gt(lost, 0);
    json_t *first = stage_lines(&stage);
    ck_assert_uint_eq(count(first, "verdict") + lost, made);
    ck_assert_uint_eq(count(first, "dropped"), 0); /* nothing after it yet */
    stage.now_ns += 1000000;
    stage_decide(&stage, "after");
    json_t *then = stage_lines(&stage), *line = stage_line(then, "dropped", 0);
    ck_assert_uint_eq(count(then, "dropped"), 1);
    json_t *loss = json_object_get(line, "dropped");
    ck_assert_uint_eq(number(loss, "count"), lost);
    ck_assert_str_eq(stage_text(loss, "what"), "record");
    ck_assert_uint_eq(number(line, "seq"), made - lost);
    ck_assert(json_real_value(json_object_get(loss, "since")) == 1005.0);
    ck_assert(json_real_value(json_object_get(loss, "until")) == 1005.001);
    ck_assert_uint_eq(adp_drain_count(stage.drain).dropped, lost);
    json_decref(first);
    json_decref(then);
}
END_TEST

START_TEST(lines_are_numbered_without_the_records_that_are_none)
{
    stage_publish(&stage, 0.1, 1);
    stage_publish(&stage, 0.2, 1);
    stage_words(&stage); /* as a reload does: a record, and no line */
    stage_publish(&stage, 0.3, 1);
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "snapshot"), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(number(stage_line(all, "snapshot", i), "seq"), i);
    json_decref(all);
}
END_TEST

START_TEST(a_loss_at_the_very_end_is_said_by_the_end)
{
    for (int i = 0; i < 1000; i++)
        stage_decide(&stage, "r");
    uint64_t lost = adp_region_ring(stage.region, 1)->dropped;
    json_decref(stage_lines(&stage));
    adp_line_clear(&stage.lines);
    adp_drain_end(stage.drain, &stage.lines, 1);
    json_t *line = json_loadb(stage.lines.text, stage.lines.len, 0, NULL);
    ck_assert_uint_eq(number(json_object_get(line, "dropped"), "count"), lost);
    json_decref(line);
}
END_TEST

START_TEST(a_snapshot_comes_before_the_decisions_that_name_it)
{
    stage_publish(&stage, 0.1, 1);
    stage_decide(&stage, "a");
    stage_publish(&stage, 0.2, 2);
    stage_decide(&stage, "b");
    json_t *all = stage_lines(&stage);
    size_t at;
    uint64_t newest = 0;
    json_t *line;
    json_array_foreach(all, at, line)
    {
        if (!json_object_get(line, "verdict"))
            newest = number(line, "snapshot");
        else
            ck_assert_uint_le(number(line, "snapshot"), newest);
    }
    ck_assert_uint_eq(newest, 2);
    ck_assert_uint_eq(number(stage_line(all, "verdict", 1), "snapshot"), 2);
    ck_assert(json_real_value(json_object_get(
                  json_object_get(stage_line(all, "verdict", 1), "signals"),
                  "kv_pressure")) == 0.2);
    json_decref(all);
}
END_TEST

/* What the lines are, in order: "s1" a snapshot, "d1" a decision on it, "x" anything else. */
static void order(json_t *all, char *to, size_t cap)
{
    size_t i, at = 0;
    json_t *line;
    json_array_foreach(all, i, line)
    {
        const char *kind = json_object_get(line, "verdict")    ? "d"
                           : json_object_get(line, "snapshot") ? "s"
                                                               : "x";
        at += (size_t)snprintf(to + at, cap - at, "%s%d ", kind,
                               (int)number(line, "snapshot"));
    }
}

START_TEST(decisions_stand_between_the_snapshot_they_name_and_the_next)
{
    char found[128];
    stage_publish(&stage, 0.1, 1);
    stage_decide(&stage, "a");
    stage_decide(&stage, "b");
    stage_publish(&stage, 0.2, 2);
    stage_publish(&stage, 0.3, 3);
    stage_decide(&stage, "c");
    json_t *all = stage_lines(&stage);
    order(all, found, sizeof found);
    ck_assert_str_eq(found, "s1 d1 d1 s2 s3 d3 ");
    json_decref(all);
}
END_TEST

START_TEST(a_decision_kept_waiting_still_has_all_that_its_snapshot_said)
{
    /* More snapshots than the drain remembers, and nobody drains meanwhile. */
    for (int i = 0; i < 300; i++) {
        stage_publish(&stage, 0.5, i);
        if (i % 10 == 0)
            stage_decide(&stage, "r");
    }
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 30);
    ck_assert_uint_eq(count(all, "dropped"), 0);
    for (size_t i = 0; i < 30; i++) {
        json_t *line = stage_line(all, "verdict", i);
        ck_assert_uint_eq(number(line, "snapshot"), i * 10 + 1);
        ck_assert_ptr_nonnull(
            json_object_get(json_object_get(line, "sources"), "kv_pressure"));
    }
    json_decref(all);
}
END_TEST

START_TEST(a_snapshot_that_was_lost_is_not_waited_for)
{
    while (adp_region_ring(stage.region, 0)->dropped < 2)
        stage_publish(&stage, 0.5, 1);
    stage_decide(&stage, "r");
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 1);
    json_decref(all);
}
END_TEST

START_TEST(no_lane_starves_while_another_fills_the_budget)
{
    struct adp_decision d;
    for (int i = 0; i < 20; i++)
        stage_decide(&stage, "r");
    adp_decide(stage.lane[1], &stage.generations, NULL, NULL, &d, NULL);
    adp_line_clear(&stage.lines);
    for (size_t i = 0; i < 2; i++) /* one line each, and there are two lanes */
        ck_assert(adp_drain_run(stage.drain, &stage.lines, stage.lines.len + 1));
    ck_assert_ptr_nonnull(memmem(stage.lines.text, stage.lines.len, "\"lane\":2", 8));
}
END_TEST

START_TEST(what_is_left_is_what_is_queued_and_what_was_dropped)
{
    json_decref(stage_lines(&stage));
    ck_assert_uint_eq(adp_drain_left(stage.drain), 0);
    for (int i = 0; i < 1000; i++)
        stage_decide(&stage, "r");
    ck_assert_uint_gt(adp_region_ring(stage.region, 1)->dropped, 0);
    ck_assert_uint_eq(adp_drain_left(stage.drain), 1000);
    json_decref(stage_lines(&stage));
    ck_assert_uint_eq(adp_drain_left(stage.drain),
                      adp_region_ring(stage.region, 1)->dropped);
    adp_drain_end(stage.drain, &stage.lines, 1);
    ck_assert_uint_eq(adp_drain_left(stage.drain), 0);
}
END_TEST

START_TEST(a_mark_is_reached_when_what_was_before_it_is_drained)
{
    stage_decide(&stage, "before");
    adp_drain_mark(stage.drain);
    ck_assert(!adp_drain_reached(stage.drain));
    stage_decide(&stage, "after");
    adp_line_clear(&stage.lines);
    adp_drain_run(stage.drain, &stage.lines, 1);
    while (!adp_drain_reached(stage.drain)) /* the words, then the decision before it */
        adp_drain_run(stage.drain, &stage.lines, stage.lines.len + 1);
    ck_assert_ptr_nonnull(memmem(stage.lines.text, stage.lines.len, "\"before\"", 8));
    ck_assert_ptr_null(memmem(stage.lines.text, stage.lines.len, "\"after\"", 7));
}
END_TEST

START_TEST(fill_is_of_the_fullest_ring)
{
    json_decref(stage_lines(&stage));
    ck_assert_uint_eq(adp_drain_fill(stage.drain), 0);
    stage_decide(&stage, "r");
    uint64_t bytes = adp_region_ring(stage.region, 1)->tail;
    uint64_t half = (1 << 15) / bytes; /* the ring has 64 KiB */
    for (uint64_t i = 1; i < half; i++)
        stage_decide(&stage, "r");
    ck_assert_uint_ge(adp_drain_fill(stage.drain), 49);
    ck_assert_uint_le(adp_drain_fill(stage.drain), 50);
    while (adp_region_ring(stage.region, 1)->dropped == 0)
        stage_decide(&stage, "r");
    ck_assert_uint_ge(adp_drain_fill(stage.drain), 99);
    json_decref(stage_lines(&stage));
    ck_assert_uint_eq(adp_drain_fill(stage.drain), 0);
}
END_TEST

START_TEST(the_opening_is_the_snapshot_in_force)
{
    ck_assert_uint_eq(adp_drain_opening(stage.drain)->len, 0);
    stage_publish(&stage, 0.1, 1);
    stage_publish(&stage, 0.25, 1);
    json_decref(stage_lines(&stage));
    const struct adp_line *opening = adp_drain_opening(stage.drain);
    json_t *line = json_loadb(opening->text, opening->len, 0, NULL);
    ck_assert_uint_eq(number(line, "snapshot"), 2);
    ck_assert_str_eq(stage_text(line, "experiment"), "e");
    json_decref(line);
}
END_TEST

START_TEST(a_snapshot_is_the_first_line_of_a_run)
{
    static const bool opened[] = { false, true, true };
    static const unsigned lines[] = { 1, 3, 1 };
    stage_decide(&stage, "a");
    stage_publish(&stage, 0.1, 1);
    stage_decide(&stage, "b");
    stage_decide(&stage, "c");
    stage_publish(&stage, 0.2, 1);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t before = adp_drain_count(stage.drain).lines;
        adp_line_clear(&stage.lines);
        ck_assert_int_eq(adp_drain_run(stage.drain, &stage.lines, SIZE_MAX), i < 2);
        ck_assert_uint_eq(adp_drain_count(stage.drain).lines - before, lines[i]);
        ck_assert_int_eq(adp_drain_opened(stage.drain), opened[i]);
        if (opened[i])
            ck_assert_int_eq(memcmp(stage.lines.text,
                                    adp_drain_opening(stage.drain)->text,
                                    adp_drain_opening(stage.drain)->len),
                             0);
    }
}
END_TEST

START_TEST(a_budget_stops_between_lines_and_nothing_is_lost)
{
    for (int i = 0; i < 50; i++)
        stage_decide(&stage, "r");
    size_t lines = 0;
    bool more = true;
    while (more) {
        adp_line_clear(&stage.lines);
        more = adp_drain_run(stage.drain, &stage.lines, 1);
        for (size_t i = 0; i < stage.lines.len; i++)
            lines += stage.lines.text[i] == '\n';
        if (stage.lines.len)
            ck_assert_int_eq(stage.lines.text[stage.lines.len - 1], '\n');
    }
    ck_assert_uint_eq(lines, 50);
}
END_TEST

START_TEST(an_outcome_keeps_every_fact_the_host_adds)
{
    static const struct adp_extra extra[] = { { "prefill_ms", NULL, 12.5 },
                                              { "ttft_ms", NULL, 1 }, /* said already */
                                              { NULL, "nameless", 0 },
                                              { "total_ms", NULL, 900.5 },
                                              { "model \"x\"", "q\nwen", 0 } };
    struct adp_result result = { .size = sizeof result,
                                 .end = ADP_CANCELLED,
                                 .present = ADP_O_TTFT | ADP_O_STATUS,
                                 .ok = 0,
                                 .status = 499,
                                 .ttft_ms = 418.25,
                                 .n_extra = 5,
                                 .extra = extra };
    struct adp_name name;
    adp_name_set(&name, "r1");
    adp_lane_put_outcome(stage.lane[0], 0, &name, &result);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "outcome", 0);
    json_t *want = json_pack("{s:f,s:b,s:i,s:s,s:f,s:f,s:s}", "ttft_ms", 418.25, "ok", 0,
                             "status", 499, "end", "cancelled", "prefill_ms", 12.5,
                             "total_ms", 900.5, "model \"x\"", "q\nwen");
    ck_assert(json_equal(json_object_get(line, "outcome"), want));
    ck_assert_str_eq(stage_text(line, "request_id"), "r1");
    ck_assert(json_is_null(json_object_get(line, "id")));
    json_decref(want);
    json_decref(all);
}
END_TEST

/* jansson takes the last of two as well: the text is looked at. */
START_TEST(of_extras_that_are_written_under_one_name_the_last_is_kept)
{
    static const struct adp_extra extra[] = {
        { "k", NULL, 1 },        { "a\xff", NULL, 2 }, { "k", "two", 0 },
        { "\xc3\xa9", NULL, 3 }, { "a\xfe", NULL, 4 }, { "k", NULL, 5 },
        { "b\xff", NULL, 6 },    { "kk", NULL, 7 },
    };
    struct adp_result result = { .size = sizeof result,
                                 .end = ADP_DONE,
                                 .ok = -1,
                                 .n_extra = sizeof extra / sizeof extra[0],
                                 .extra = extra };
    struct adp_name name;
    adp_name_set(&name, "r1");
    adp_lane_put_outcome(stage.lane[0], 0, &name, &result);
    json_decref(stage_lines(&stage));
    adp_line_put(&stage.lines, "", 1);
    const char *text = strstr(stage.lines.text, "\"outcome\"");
    ck_assert_ptr_nonnull(text);
    const char *want = "\"outcome\":{\"end\":\"done\",\"\\u00e9\":3,\"a\\ufffd\":4,"
                       "\"k\":5,\"b\\ufffd\":6,\"kk\":7},";
    ck_assert_msg(strncmp(text, want, strlen(want)) == 0, "%s", text);
}
END_TEST

/* Texts of so many bytes under one name, `between` others of four bytes between them, and how
 * long the one is that is there; -1: none. */
static const struct {
    const char *first, *last;
    unsigned first_text, between, last_text;
    int there;
} again[] = {
    { "k", "k", 1, 0, 4095, 4095 },         { "k", "k", 1, 0, 4096, -1 },
    { "k", "k", 3000, 0, 4000, 4000 },      { "a\xff", "a\xfe", 1, 0, 4095, -1 },
    { "a\xff", "a\xfe", 9, 0, 4094, 4094 }, { "k", "k", 1, 127, 2, 2 },
    { "k", "k", 1, 127, 3600, -1 },         { "k", "kk", 1, 127, 1, 1 },
};

START_TEST(of_extras_under_one_name_the_last_is_there_or_none)
{
    static char text[4097];
    char name[127][5], last[4097] = "";
    struct adp_extra extra[129];
    struct adp_result result = {
        .size = sizeof result, .end = ADP_DONE, .ok = -1, .extra = extra
    };
    struct adp_name id;
    uint32_t n = 0;
    memset(text, 't', again[_i].first_text);
    memset(last, 'l', again[_i].last_text);
    last[again[_i].last_text] = text[again[_i].first_text] = '\0';
    extra[n++] = (struct adp_extra) { again[_i].first, text, 0 };
    for (uint32_t i = 0; i < again[_i].between; i++) {
        snprintf(name[i], sizeof name[i], "%04u", i);
        extra[n++] = (struct adp_extra) { name[i], NULL, i };
    }
    extra[n++] = (struct adp_extra) { again[_i].last, last, 0 };
    result.n_extra = n;
    adp_name_set(&id, "r1");
    adp_lane_put_outcome(stage.lane[0], 0, &id, &result);
    json_t *all = stage_lines(&stage);
    const json_t *outcome = json_object_get(stage_line(all, "outcome", 0), "outcome");
    bool escaped = again[_i].first[0] == 'a';
    const json_t *kept = json_object_get(outcome, escaped ? "a\xef\xbf\xbd" : "k");
    bool is_there = again[_i].there >= 0;
    ck_assert_uint_eq(json_object_size(outcome), 1u + again[_i].between + is_there);
    ck_assert_int_eq(kept ? (int)json_string_length(kept) : -1, again[_i].there);
    json_decref(all);
}
END_TEST

/* Extras, each with a name of `name` bytes and a text of `text`, and how many of them there
 * are in the line. The last are 97 bytes for each of 43. */
static const struct {
    unsigned n, name, text, there;
} extras[] = {
    { 100, 10, 20, 100 }, { 128, 12, 20, 128 }, { 129, 5, 0, 128 }, { 2, 96, 4000, 1 },
    { 1, 96, 4000, 1 },   { 1, 96, 4001, 0 },   { 1, 4096, 0, 1 },  { 1, 4097, 0, 0 },
    { 1, 70000, 0, 0 },   { 1, 5, 70000, 0 },   { 1, 65541, 0, 0 }, { 43, 95, 2, 42 },
};

START_TEST(extras_are_kept_up_to_128_and_4096_bytes_of_names_and_texts)
{
    static char name[129][70001], text[70001];
    struct adp_extra extra[129];
    struct adp_result result = {
        .size = sizeof result, .end = ADP_DONE, .ok = -1, .extra = extra
    };
    struct adp_name id;
    result.n_extra = extras[_i].n;
    memset(text, 't', extras[_i].text);
    for (unsigned i = 0; i < extras[_i].n; i++) {
        snprintf(name[i], sizeof name[i], "%0*u", (int)extras[_i].name, i);
        extra[i] = (struct adp_extra) { name[i], extras[_i].text ? text : NULL, i };
    }
    adp_name_set(&id, "r1");
    adp_lane_put_outcome(stage.lane[0], 0, &id, &result);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "outcome", 0);
    json_t *outcome = json_object_get(line, "outcome");
    ck_assert_uint_eq(json_object_size(outcome), 1 /* the end */ + extras[_i].there);
    for (unsigned i = 0; i < extras[_i].there; i++) {
        const json_t *kept = json_object_get(outcome, name[i]);
        ck_assert_uint_eq(json_string_length(kept), extras[_i].text);
        ck_assert(extras[_i].text || json_number_value(kept) == i);
    }
    ck_assert_str_eq(stage_text(line, "request_id"), "r1");
    json_decref(all);
}
END_TEST

/* --- metrics given with requests: names once, then numbers --- */

static const char *const engine_0[] = { "engine", "0", NULL };
static const char *const engine_1[] = { "engine", "1", NULL };

static void decide_given(uint32_t lane, const adp_metric *metrics, uint32_t n)
{
    struct adp_decision d;
    adp_sheet_fill(adp_lane_sheet(stage.lane[lane]), metrics, n);
    ck_assert_int_eq(adp_decide(stage.lane[lane], &stage.generations, NULL,
                                stage.lane[lane]->now, &d, NULL),
                     0);
}

static void says_metrics(json_t *all, size_t i, json_t *want)
{
    json_t *line = stage_line(all, "verdict", i);
    ck_assert_msg(json_equal(json_object_get(line, "metrics"), want), "line %zu", i);
    json_decref(want);
}

/* The first is given on one sheet of the lane, the others on the other: told with the third,
 * by number from the fourth on. The lines say nothing of that. */
START_TEST(lines_are_the_same_whether_names_are_told_or_known)
{
    enum { GIVEN = 5 };
    for (int i = 0; i < GIVEN; i++) {
        const adp_metric a[] = { { "kv", engine_0, i + 0.5 }, { "kv", engine_1, i } };
        const adp_metric b[] = { { "kv", engine_0, i * 10 }, { "queue", NULL, NAN } };
        decide_given(0, a, 2);
        decide_given(1, b, 2);
    }
    ck_assert(stage.lane[0]->sheet[1].told);
    ck_assert(stage.lane[1]->sheet[1].told);
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 2 * GIVEN);
    for (int i = 0; i < GIVEN; i++) {
        says_metrics(
            all, (size_t)i,
            json_pack("{s:f,s:i}", "kv{engine=\"0\"}", i + 0.5, "kv{engine=\"1\"}", i));
        says_metrics(all, (size_t)i + GIVEN,
                     json_pack("{s:i,s:n}", "kv", i * 10, "queue"));
    }
    json_decref(all);
}
END_TEST

START_TEST(names_that_found_no_room_are_told_again)
{
    const adp_metric a[] = { { "kv", engine_0, 1 }, { "kv", engine_1, 2 } };
    for (int i = 0; i < 2; i++) /* one for each sheet */
        decide_given(0, a, 2);
    uint64_t dropped = 0;
    for (int i = 0; !dropped; i++) { /* until the ring is full */
        stage_decide(&stage, "r");
        dropped = atomic_load(&adp_region_ring(stage.region, 1)->dropped);
    }
    decide_given(0, a, 2);
    ck_assert(!stage.lane[0]->sheet[1].told);
    json_decref(stage_lines(&stage));
    decide_given(0, a, 2);
    ck_assert(stage.lane[0]->sheet[1].told);
    decide_given(0, a, 2);
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 2);
    for (size_t i = 0; i < 2; i++)
        says_metrics(
            all, i, json_pack("{s:i,s:i}", "kv{engine=\"0\"}", 1, "kv{engine=\"1\"}", 2));
    json_decref(all);
}
END_TEST

/* --- the region is foreign: what a writer gone mad could leave there --- */

static struct adp_record *first_record(void)
{
    return (struct adp_record *)(void *)adp_region_bytes_of(stage.region, 1);
}

static struct adp_rec_decision *first_decision(void)
{
    return (struct adp_rec_decision *)(void *)first_record();
}

static void zero_bytes(void)
{
    first_record()->bytes = 0;
}
static void odd_bytes(void)
{
    first_record()->bytes = 61;
}
static void endless_bytes(void)
{
    first_record()->bytes = UINT32_MAX - 7;
}
static void short_bytes(void)
{
    first_record()->bytes = 16;
}
static void head_only(void)
{
    first_record()->bytes = sizeof(struct adp_record);
}
static void unknown_kind(void)
{
    first_record()->kind = 77;
}
static void tail_ahead(void)
{
    adp_region_ring(stage.region, 1)->tail += 1ull << 40;
}
static void tail_behind(void)
{
    adp_region_ring(stage.region, 1)->tail = UINT64_MAX - 7;
}
static void too_many_signals(void)
{
    first_decision()->n_signals = 200;
}
static void long_metrics(void)
{
    first_decision()->metrics_len = 1u << 30;
}
static void long_names(void)
{
    first_decision()->id_len = 255;
    first_decision()->tenant_len = 255;
}
static void lying_inline(void)
{
    first_decision()->flags |= ADP_REC_INLINE;
}

static void untold_shape(void)
{
    first_decision()->flags |= ADP_REC_VALUES | ADP_REC_INLINE;
    first_decision()->n_signals = 0;
    first_decision()->metrics_len = 8;
    first_decision()->shape = 2;
}
static void values_of_nothing(void)
{
    first_decision()->flags |= ADP_REC_VALUES;
    first_decision()->metrics_len = 0;
}
static void shape_of_garbage(void)
{
    first_decision()->flags |= ADP_REC_TELLS | ADP_REC_INLINE;
    first_decision()->n_signals = 0;
    first_decision()->metrics_len = 8;
    first_decision()->shape = 2;
}

static void (*const madness[])(void) = {
    zero_bytes,   odd_bytes,    endless_bytes, short_bytes,       head_only,
    unknown_kind, tail_ahead,   tail_behind,   too_many_signals,  long_metrics,
    long_names,   lying_inline, untold_shape,  values_of_nothing, shape_of_garbage,
};

START_TEST(a_damaged_ring_is_abandoned_said_and_the_others_go_on)
{
    stage_decide(&stage, "r");
    madness[_i]();
    struct adp_decision d;
    adp_decide(stage.lane[1], &stage.generations, NULL, NULL, &d, NULL);
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 1);
    ck_assert_str_eq(
        stage_text(json_object_get(stage_line(all, "dropped", 0), "dropped"), "what"),
        "ring");
    ck_assert_uint_eq(adp_drain_count(stage.drain).damaged, 1);
    json_decref(all);
}
END_TEST

/* Words that lie about themselves without overrunning anything: the line stays readable.
 */
static void unknown_policy(void)
{
    first_decision()->policy = 250;
}
static void unknown_generation(void)
{
    first_decision()->generation = 9999;
}
static void unknown_snapshot(void)
{
    first_decision()->snapshot = 1ull << 60;
}
static void unknown_words(void)
{
    first_decision()->action = 99;
    first_decision()->reason = 9999;
    first_decision()->fault = 99;
    first_decision()->binding = 63;
}

static void (*const lies[])(void) = { unknown_policy, unknown_generation,
                                      unknown_snapshot, unknown_words };

START_TEST(a_lie_that_fits_still_makes_a_line_of_json)
{
    stage_decide(&stage, "r");
    lies[_i]();
    json_t *all = stage_lines(&stage);
    ck_assert_uint_eq(count(all, "verdict"), 1);
    json_decref(all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drain");
    TCase *t = tcase_create("drain");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_decision_is_there_once_in_order);
    tcase_add_test(t, a_gap_becomes_one_line_with_the_exact_count);
    tcase_add_test(t, lines_are_numbered_without_the_records_that_are_none);
    tcase_add_test(t, a_loss_at_the_very_end_is_said_by_the_end);
    tcase_add_test(t, a_snapshot_comes_before_the_decisions_that_name_it);
    tcase_add_test(t, decisions_stand_between_the_snapshot_they_name_and_the_next);
    tcase_add_test(t, a_decision_kept_waiting_still_has_all_that_its_snapshot_said);
    tcase_add_test(t, a_snapshot_that_was_lost_is_not_waited_for);
    tcase_add_test(t, no_lane_starves_while_another_fills_the_budget);
    tcase_add_test(t, what_is_left_is_what_is_queued_and_what_was_dropped);
    tcase_add_test(t, a_mark_is_reached_when_what_was_before_it_is_drained);
    tcase_add_test(t, fill_is_of_the_fullest_ring);
    tcase_add_test(t, a_snapshot_is_the_first_line_of_a_run);
    tcase_add_test(t, the_opening_is_the_snapshot_in_force);
    tcase_add_test(t, a_budget_stops_between_lines_and_nothing_is_lost);
    tcase_add_test(t, an_outcome_keeps_every_fact_the_host_adds);
    tcase_add_test(t, of_extras_that_are_written_under_one_name_the_last_is_kept);
    tcase_add_loop_test(t, of_extras_under_one_name_the_last_is_there_or_none, 0,
                        sizeof again / sizeof again[0]);
    tcase_add_loop_test(t, extras_are_kept_up_to_128_and_4096_bytes_of_names_and_texts, 0,
                        sizeof extras / sizeof extras[0]);
    tcase_add_test(t, lines_are_the_same_whether_names_are_told_or_known);
    tcase_add_test(t, names_that_found_no_room_are_told_again);
    tcase_add_loop_test(t, a_damaged_ring_is_abandoned_said_and_the_others_go_on, 0,
                        sizeof madness / sizeof madness[0]);
    tcase_add_loop_test(t, a_lie_that_fits_still_makes_a_line_of_json, 0,
                        sizeof lies / sizeof lies[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
