/* SPDX-License-Identifier: MIT */
#include "core/promtext.h"
#include "tests/core/stage.h"

#include <math.h>

static struct stage stage;

/* --- a policy that keeps what it was shown --- */

enum { QUEUE, KV, N_READS };
static const struct adp_signal reads[] = { { "queue_depth", "requests", 0, 0 },
                                           { "kv_pressure", "ratio", ADP_REPLICAS, 0 } };
static const struct adp_signal reads_none[] = { { "kv_pressure", "ratio", 0, 0 } };

static struct {
    uint32_t rows;
    uint64_t present[8];
    double kv[8], queue[8];
} shown;

static void look(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    memset(&shown, 0, sizeof shown);
    shown.rows = v->n_replicas;
    for (uint32_t r = 0; r < v->n_replicas && r < 8; r++) {
        shown.present[r] = v->replica_present[r];
        shown.kv[r] = v->replica[r * N_READS + KV];
        shown.queue[r] = v->replica[r * N_READS + QUEUE];
    }
    adp_admit(w);
}

static const struct adp_policy looker = {
    ADP_HEAD,         .name = "looker", .threading = ADP_CONCURRENT, .n_signals = N_READS,
    .signals = reads, .decide = look
};
static const struct adp_policy pool_only = {
    ADP_HEAD,       .name = "pool_only",   .threading = ADP_CONCURRENT,
    .n_signals = 1, .signals = reads_none, .decide = look
};

static const struct adp_policy *const looks[] = { &looker, NULL };
static const struct adp_policy *const looks_at_pool[] = { &pool_only, NULL };

static void open_stage(void)
{
    stage_open(&stage, looks, 1 << 17, 16);
}

static void close_stage(void)
{
    stage_close(&stage);
}

static void publish(const char *page)
{
    struct adp_promtext_found found;
    ck_assert_int_eq(adp_promtext_read(adp_publisher_next(stage.publisher), page,
                                       strlen(page), &found, NULL),
                     0);
    ck_assert_uint_eq(found.bad_lines, 0);
    ck_assert_int_eq(adp_publisher_publish(stage.publisher, stage.signals, 1,
                                           stage.now_ns, stage_wall(&stage), NULL),
                     0);
}

#define KV_OF(target, kv)   "vllm:kv_cache_usage_perc{target=\"" target "\"} " kv "\n"
#define QUEUE_OF(target, n) "vllm:num_requests_waiting{target=\"" target "\"} " n "\n"

static void expect(json_t *line, const char *path, const char *json)
{
    json_t *wanted = json_loads(json, JSON_DECODE_ANY, NULL);
    json_t *is = json_object_get(line, path);
    char *text = is ? json_dumps(is, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    ck_assert_ptr_nonnull(wanted);
    ck_assert_msg(json_equal(is, wanted), "%s is %s, expected %s", path,
                  text ? text : "not there", json);
    free(text);
    json_decref(wanted);
}

/* --- rows --- */

START_TEST(a_row_for_each_target_in_the_order_of_the_page)
{
    publish(KV_OF("b", "0.5") KV_OF("a", "0.25") QUEUE_OF("b", "1") QUEUE_OF("a", "2"));
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 2);
    ck_assert_double_eq(shown.kv[0], 0.5);
    ck_assert_double_eq(shown.kv[1], 0.25);
}
END_TEST

START_TEST(metrics_without_targets_have_no_rows)
{
    publish("vllm:kv_cache_usage_perc 0.5\n");
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 0);
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(json_object_get(json_array_get(all, i), "replicas"));
        ck_assert_ptr_null(json_object_get(json_array_get(all, i), "pool"));
    }
    json_decref(all);
}
END_TEST

START_TEST(slots_that_do_not_ask_for_replicas_are_absent)
{
    publish(KV_OF("a", "0.5") QUEUE_OF("a", "7"));
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.present[0], 1u << KV);
    ck_assert_double_eq(shown.queue[0], 0);
}
END_TEST

/* --- absence --- */

START_TEST(what_a_target_does_not_tell_is_absent_and_never_zero)
{
    /* c is on the page, and says nothing of its cache; d says what cannot be. */
    publish(KV_OF("a", "0.5") KV_OF("b", "0") QUEUE_OF("c", "3") KV_OF("d", "1.5"));
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 4);
    ck_assert_uint_eq(shown.present[0], 1u << KV);
    ck_assert_uint_eq(shown.present[1], 1u << KV);
    ck_assert_uint_eq(shown.present[2], 0);
    ck_assert_uint_eq(shown.present[3], 0);
    json_t *all = stage_lines(&stage);
    expect(stage_line(all, "verdict", 0), "replicas",
           "{\"kv_pressure\":[0.5,0,null,null]}");
    json_decref(all);
}
END_TEST

START_TEST(each_replica_is_read_from_the_source_that_it_has)
{
    publish(KV_OF("v", "0.5") "sglang:token_usage{target=\"s\"} 0.75\n");
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 2);
    ck_assert_double_eq(shown.kv[0], 0.5);
    ck_assert_double_eq(shown.kv[1], 0.75);
}
END_TEST

START_TEST(a_held_replica_ages_out_by_itself)
{
    /* Wall is 1,005 s: b was measured 3 s before, and kv_pressure lives for 5. */
    publish(KV_OF("a", "0.5") "vllm:kv_cache_usage_perc{target=\"b\"} 0.25 1002000\n");
    stage.now_ns += 1999000000u;
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.present[1], 1u << KV);
    stage.now_ns += 1000000u;
    stage_decide(&stage, "y");
    ck_assert_uint_eq(shown.rows, 2);
    ck_assert_uint_eq(shown.present[0], 1u << KV);
    ck_assert_uint_eq(shown.present[1], 0);
    json_t *all = stage_lines(&stage);
    expect(stage_line(all, "verdict", 0), "replicas", "{\"kv_pressure\":[0.5,0.25]}");
    expect(stage_line(all, "verdict", 1), "replicas", "{\"kv_pressure\":[0.5,null]}");
    json_decref(all);
}
END_TEST

/* --- lines --- */

START_TEST(a_snapshot_tells_the_pool_and_all_that_it_knows_of_it)
{
    publish(KV_OF("a", "0.5") KV_OF("b \\\"2\\\"", "0.25") QUEUE_OF("a", "3"));
    json_t *all = stage_lines(&stage), *line = stage_line(all, "metrics", 0);
    expect(line, "pool", "[\"a\",\"b \\\"2\\\"\"]");
    expect(line, "replicas", "{\"kv_pressure\":[0.5,0.25],\"queue_depth\":[3,null]}");
    json_decref(all);
}
END_TEST

START_TEST(a_decision_tells_what_policies_read_of_it_and_no_more)
{
    publish(KV_OF("a", "0.5") QUEUE_OF("a", "3"));
    stage_decide(&stage, "x");
    json_t *all = stage_lines(&stage);
    expect(stage_line(all, "verdict", 0), "replicas", "{\"kv_pressure\":[0.5]}");
    json_decref(all);
}
END_TEST

START_TEST(nothing_is_told_where_no_policy_reads_replicas)
{
    stage_close(&stage);
    stage_open(&stage, looks_at_pool, 1 << 17, 16);
    publish(KV_OF("a", "0.5") KV_OF("b", "0.25"));
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 0);
    json_t *all = stage_lines(&stage);
    ck_assert_ptr_null(json_object_get(stage_line(all, "verdict", 0), "replicas"));
    json_decref(all);
}
END_TEST

START_TEST(the_view_is_rebuilt_from_its_line)
{
    publish(KV_OF("a", "0.1") KV_OF("b", "0.30000000000000004") QUEUE_OF("c", "1"));
    stage_decide(&stage, "x");
    json_t *all = stage_lines(&stage);
    json_t *column = json_object_get(
        json_object_get(stage_line(all, "verdict", 0), "replicas"), "kv_pressure");
    ck_assert_uint_eq(json_array_size(column), shown.rows);
    for (uint32_t r = 0; r < shown.rows; r++) {
        json_t *cell = json_array_get(column, r);
        ck_assert_int_eq(!json_is_null(cell), shown.present[r] >> KV & 1u);
        if (!json_is_null(cell))
            ck_assert(json_number_value(cell) == shown.kv[r]); /* to the bit */
    }
    json_decref(all);
}
END_TEST

/* --- metrics with the request --- */

START_TEST(metrics_given_with_a_request_have_replicas_too)
{
    struct adp_promtext_found found;
    struct adp_metrics *m;
    struct adp_decision d;
    static const char page[] = KV_OF("a", "0.5") QUEUE_OF("b", "3");
    ck_assert_int_eq(adp_metrics_create(&m), 0);
    ck_assert_int_eq(adp_promtext_read(m, page, strlen(page), &found, NULL), 0);
    ck_assert_int_eq(adp_decide(stage.lane[0], &stage.generations, NULL, m, &d, NULL), 0);
    ck_assert_uint_eq(shown.rows, 2);
    ck_assert_uint_eq(shown.present[0], 1u << KV);
    ck_assert_uint_eq(shown.present[1], 0);
    json_t *all = stage_lines(&stage);
    expect(stage_line(all, "verdict", 0), "replicas", "{\"kv_pressure\":[0.5,null]}");
    json_decref(all);
    adp_metrics_destroy(m);
}
END_TEST

/* --- bounds --- */

static void add_target(struct adp_metrics *m, unsigned i)
{
    char name[16];
    int n = snprintf(name, sizeof name, "t%u", i);
    struct adp_label label = { { "target", 6 }, { name, (size_t)n } };
    ck_assert_int_eq(adp_metrics_add(m,
                                     (struct adp_str) { "vllm:kv_cache_usage_perc", 24 },
                                     &label, 1, 0.5, false, 0, NULL),
                     0);
}

START_TEST(more_replicas_than_a_view_holds_are_none_and_said)
{
    struct adp_error err = { 0 };
    for (unsigned i = 0; i < ADP_MAX_REPLICAS + 1u; i++)
        add_target(adp_publisher_next_filled(stage.publisher), i);
    ck_assert_int_eq(adp_publisher_publish(stage.publisher, stage.signals, 1,
                                           stage.now_ns, stage_wall(&stage), &err),
                     ADP_NOTE);
    ck_assert_ptr_nonnull(strstr(err.text, "more than 256 replicas"));
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, 0);
}
END_TEST

START_TEST(as_many_replicas_as_a_view_holds_are_all_shown)
{
    struct adp_error err = { 0 };
    for (unsigned i = 0; i < ADP_MAX_REPLICAS; i++)
        add_target(adp_publisher_next_filled(stage.publisher), i);
    ck_assert_int_eq(adp_publisher_publish(stage.publisher, stage.signals, 1,
                                           stage.now_ns, stage_wall(&stage), &err),
                     0);
    stage_decide(&stage, "x");
    ck_assert_uint_eq(shown.rows, ADP_MAX_REPLICAS);
}
END_TEST

START_TEST(a_record_that_claims_more_rows_than_it_has_is_refused)
{
    struct {
        struct adp_rec_decision head;
        struct adp_rec_replicas replicas;
        uint64_t present;
        double value;
    } r = { .head = { .flags = ADP_REC_REPLICAS },
            .replicas = { .signals = 1, .rows = 1 } };
    struct adp_decision_parts parts;
    r.head.head.bytes = sizeof r;
    ck_assert(adp_write_split(&r.head, &parts));
    ck_assert_ptr_eq(parts.replicas, &r.replicas);
    r.replicas.rows = 2;
    ck_assert(!adp_write_split(&r.head, &parts));
    r.replicas.rows = ADP_MAX_REPLICAS + 1;
    r.replicas.signals = 0;
    ck_assert(!adp_write_split(&r.head, &parts));
    r.replicas = (struct adp_rec_replicas) { .signals = 3, .rows = 1 };
    ck_assert(!adp_write_split(&r.head, &parts));
}
END_TEST

START_TEST(a_table_that_another_left_is_believed_only_within_its_bounds)
{
    static struct adp_replicas t;
    adp_replicas_begin(&t, 2, 5);
    ck_assert(adp_replicas_sound(&t, 3));
    ck_assert(!adp_replicas_sound(&t, 2)); /* a signal that the set has not */
    t.columns = 3;
    ck_assert(!adp_replicas_sound(&t, 3));
    t.columns = 2;
    t.rows = ADP_MAX_REPLICAS + 1;
    ck_assert(!adp_replicas_sound(&t, 3));
    adp_replicas_begin(&t, 64, UINT64_MAX);
    ck_assert(adp_replicas_sound(&t, 64));
    t.rows = 65; /* 4,160 cells of 4,096 */
    ck_assert(!adp_replicas_sound(&t, 64));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replicas");
    TCase *t = tcase_create("replicas");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_add_test(t, a_row_for_each_target_in_the_order_of_the_page);
    tcase_add_test(t, metrics_without_targets_have_no_rows);
    tcase_add_test(t, slots_that_do_not_ask_for_replicas_are_absent);
    tcase_add_test(t, what_a_target_does_not_tell_is_absent_and_never_zero);
    tcase_add_test(t, each_replica_is_read_from_the_source_that_it_has);
    tcase_add_test(t, a_held_replica_ages_out_by_itself);
    tcase_add_test(t, a_snapshot_tells_the_pool_and_all_that_it_knows_of_it);
    tcase_add_test(t, a_decision_tells_what_policies_read_of_it_and_no_more);
    tcase_add_test(t, nothing_is_told_where_no_policy_reads_replicas);
    tcase_add_test(t, the_view_is_rebuilt_from_its_line);
    tcase_add_test(t, metrics_given_with_a_request_have_replicas_too);
    tcase_add_test(t, more_replicas_than_a_view_holds_are_none_and_said);
    tcase_add_test(t, as_many_replicas_as_a_view_holds_are_all_shown);
    tcase_add_test(t, a_record_that_claims_more_rows_than_it_has_is_refused);
    tcase_add_test(t, a_table_that_another_left_is_believed_only_within_its_bounds);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
