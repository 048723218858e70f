/* SPDX-License-Identifier: MIT */
/* saturation: verdicts worked out by hand. Defaults unless a row says otherwise: 5 waiting
 * requests or 80 % of the KV cache in an engine are saturation 1. */
#include "tests/plugins/mixed_pools.h"
#include "tests/plugins/stage.h"

static struct stage s;

static void setup(void)
{
    stage_open(&s, "saturation");
}

static void teardown(void)
{
    stage_close(&s);
}

/* --- one decision --- */

enum { NO_PRIORITY = 99 };

static const struct {
    const char *claim;
    double queue, kv;
    int64_t priority;
    double engines;   /* 0: as it is by default */
    bool absent_open; /* absent_saturated: false */
    uint32_t action, reason, binding;
    double margin; /* NAN: not set */
} rows[] = {
    { "an idle pool admits", 0, 0, -1, 0, 0, ADP_ADMIT, 0, ADP_NONE, -1.0 },
    { "the scarcer resource counts: queue, 4/5", 4, 0.2, -1, 0, 0, ADP_ADMIT, 0, ADP_NONE,
      4.0 / 5 - 1 },
    { "the scarcer resource counts: cache, 0.6/0.8", 1, 0.6, -1, 0, 0, ADP_ADMIT, 0,
      ADP_NONE, 0.6 / 0.8 - 1 },
    { "at 1 sheddable requests are rejected, for the queue", 5, 0.2, -1, 0, 0, ADP_REJECT,
      ADP_R_QUEUE_DEPTH, 0, 0.0 },
    { "at 1 sheddable requests are rejected, for the cache", 0, 0.8, -1, 0, 0, ADP_REJECT,
      ADP_R_KV_PRESSURE, 1, 0.0 },
    { "above 1 too", 12, 1.0, -3, 0, 0, ADP_REJECT, ADP_R_QUEUE_DEPTH, 0, 12.0 / 5 - 1 },
    { "priority 0 is never rejected", 50, 1.0, 0, 0, 0, ADP_ADMIT, 0, ADP_NONE, NAN },
    { "priority 7 is never rejected", 50, 1.0, 7, 0, 0, ADP_ADMIT, 0, ADP_NONE, NAN },
    { "nor is a request without a priority", 50, 1.0, NO_PRIORITY, 0, 0, ADP_ADMIT, 0,
      ADP_NONE, NAN },
    { "a summed queue is that of many engines", 19, 0.1, -1, 4, 0, ADP_ADMIT, 0, ADP_NONE,
      19.0 / 20 - 1 },
    { "and saturates them together", 20, 0.1, -1, 4, 0, ADP_REJECT, ADP_R_QUEUE_DEPTH, 0,
      0.0 },

    /* absence: counts as 1, and is named; or is left out */
    { "no reading at all is saturation 1, and called stale", ABSENT, ABSENT, -1, 0, 0,
      ADP_REJECT, ADP_R_SIGNAL_STALE, ADP_NONE, 0.0 },
    { "one reading absent and the other low is stale", 1, ABSENT, -1, 0, 0, ADP_REJECT,
      ADP_R_SIGNAL_STALE, ADP_NONE, 0.0 },
    { "one reading absent and the other high is overload", 10, ABSENT, -1, 0, 0,
      ADP_REJECT, ADP_R_QUEUE_DEPTH, 0, 1.0 },
    { "absence never rejects priority 0", ABSENT, ABSENT, 0, 0, 0, ADP_ADMIT, 0, ADP_NONE,
      NAN },
    { "left out: no reading at all admits", ABSENT, ABSENT, -1, 0, 1, ADP_ADMIT, 0,
      ADP_NONE, NAN },
    { "left out: the reading that is there decides, low", 1, ABSENT, -1, 0, 1, ADP_ADMIT,
      0, ADP_NONE, 1.0 / 5 - 1 },
    { "left out: the reading that is there decides, high", ABSENT, 0.88, -1, 0, 1,
      ADP_REJECT, ADP_R_KV_PRESSURE, 1, 0.88 / 0.8 - 1 },
};

START_TEST(a_pooled_reading_is_judged_as_worked_out_by_hand)
{
    if (rows[_i].engines > 0)
        stage_set(&s, "engines", rows[_i].engines);
    stage_set(&s, "absent_saturated", !rows[_i].absent_open);
    stage_create(&s, NULL, 0);
    stage_signal(&s, "queue_depth", rows[_i].queue);
    stage_signal(&s, "kv_pressure", rows[_i].kv);
    if (rows[_i].priority != NO_PRIORITY)
        stage_priority(&s, rows[_i].priority);
    for (unsigned again = 0; again < 8; again++) { /* with other garbage each time */
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->action == rows[_i].action, "%s: %u", rows[_i].claim, w->action);
        ck_assert_msg(w->reason == rows[_i].reason, "%s: %u", rows[_i].claim, w->reason);
        ck_assert_uint_eq(w->binding, rows[_i].binding);
        ck_assert_uint_eq(w->set, isnan(rows[_i].margin) ? 0u : ADP_SET_MARGIN);
        if (!isnan(rows[_i].margin))
            ck_assert_double_eq_tol(w->margin, rows[_i].margin, 1e-15);
        ck_assert_uint_eq(w->ticket, 0);
    }
}
END_TEST

/* --- per engine: the mean of the scarcer resource of each --- */

static const struct {
    const char *claim;
    double reading[3][2]; /* queue, kv */
    bool absent_open;
    double saturation; /* NAN: none */
    uint32_t reason;   /* 0: admitted */
} pools[] = {
    /* (2 + 0.5 + 0.25) / 3 */
    { "one full engine of three does not saturate a pool",
      { { 10, 0.1 }, { 0, 0.4 }, { 0, 0.2 } },
      0,
      2.75 / 3,
      0 },
    /* (2 + 0.5 + 0.5) / 3 = 1; queues make 2 of it */
    { "a mean of 1 does",
      { { 10, 0.1 }, { 0, 0.4 }, { 0, 0.4 } },
      0,
      1.0,
      ADP_R_QUEUE_DEPTH },
    /* (1.25 + 1.25 + 0.6) / 3; caches make 2.5 of it */
    { "what makes most of it is blamed",
      { { 0, 1.0 }, { 0, 1.0 }, { 3, 0.1 } },
      0,
      3.1 / 3,
      ADP_R_KV_PRESSURE },
    /* (1 + 1 + 0.5) / 3 */
    { "two dead scrapes of three are not yet overload",
      { { ABSENT, ABSENT }, { ABSENT, ABSENT }, { 0, 0.4 } },
      0,
      2.5 / 3,
      0 },
    /* (1 + 1 + 1.2) / 3, and the one that is known is saturated by itself */
    { "an overloaded engine among dead scrapes is overload",
      { { ABSENT, ABSENT }, { ABSENT, ABSENT }, { 6, 0.4 } },
      0,
      3.2 / 3,
      ADP_R_QUEUE_DEPTH },
    { "dead scrapes alone are stale",
      { { ABSENT, ABSENT }, { ABSENT, ABSENT }, { ABSENT, ABSENT } },
      0,
      1.0,
      ADP_R_SIGNAL_STALE },
    /* (1 + 1 + 1.5) / 3 >= 1, known (1.5 + 0.1)/2 < 1: 0.08/0.8 with a queue unknown */
    { "an overload that needs an absent reading to be one is stale",
      { { ABSENT, ABSENT }, { ABSENT, 0.08 }, { 0, 1.2 } },
      0,
      3.5 / 3,
      ADP_R_SIGNAL_STALE },
    { "left out: an engine without readings is no engine",
      { { ABSENT, ABSENT }, { ABSENT, ABSENT }, { 6, 0.4 } },
      1,
      1.2,
      ADP_R_QUEUE_DEPTH },
    { "left out: no engine with readings admits",
      { { ABSENT, ABSENT }, { ABSENT, ABSENT }, { ABSENT, ABSENT } },
      1,
      NAN,
      0 },
};

START_TEST(readings_per_engine_go_before_the_pool)
{
    stage_set(&s, "absent_saturated", !pools[_i].absent_open);
    stage_set(&s, "engines", 1000); /* is of no account here */
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    for (uint32_t r = 0; r < 3; r++) {
        if (!isnan(pools[_i].reading[r][0])) /* neither is the pool's aggregate */
            stage_signal(&s, "queue_depth", 1e6);
        if (!isnan(pools[_i].reading[r][1]))
            stage_signal(&s, "kv_pressure", 1.0);
        stage_engine(&s, r, "queue_depth", pools[_i].reading[r][0]);
        stage_engine(&s, r, "kv_pressure", pools[_i].reading[r][1]);
    }
    for (unsigned again = 0; again < 8; again++) {
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->reason == pools[_i].reason, "%s: %u", pools[_i].claim,
                      w->reason);
        ck_assert_uint_eq(w->action, pools[_i].reason ? ADP_REJECT : ADP_ADMIT);
        if (isnan(pools[_i].saturation))
            ck_assert_uint_eq(w->set, 0);
        else
            ck_assert_double_eq_tol(w->margin, pools[_i].saturation - 1, 1e-15);
    }
}
END_TEST

START_TEST(each_signal_is_read_of_the_engines_or_else_of_the_pool)
{
    const struct mixed_pool *pool = &mixed_pools[_i];
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    mixed_pool_set(&s, pool);
    for (unsigned again = 0; again < 8; again++) {
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->reason == pool->reason, "%s: %u", pool->claim, w->reason);
        ck_assert_uint_eq(w->action, pool->reason ? ADP_REJECT : ADP_ADMIT);
        ck_assert_uint_eq(w->binding, pool->binding);
        ck_assert_double_eq_tol(w->margin, pool->saturation - 1, 1e-15);
    }
}
END_TEST

/* --- what it remembers: the queue in waiting requests, one engine, priority -1 --- */

enum { STEPS = 8 };

static const struct {
    const char *claim;
    double reopen_below, hold_ms, probe_ms;
    struct {
        uint64_t ms;
        double queue;
        int64_t priority;
        bool admits;
    } step[STEPS];
} memories[] = {
    { "by default the gate has one threshold",
      1.0,
      5000,
      1000,
      { { 0, 5, -1, false },
        { 1, 4, -1, true },
        { 2, 5, -1, false },
        { 3, 4, -1, true },
        { 4, 6, -1, false },
        { 5, 4, -1, true },
        { 6, 5, 0, true },
        { 7, 4, -1, true } } },
    { "with a second one it opens below that: 3 waiting are 0.6",
      0.7,
      5000,
      1000,
      { { 0, 4, -1, true },
        { 1, 5, -1, false },
        { 2, 4, -1, false },
        { 3, 4, 0, true },
        { 4, 3, -1, true },
        { 5, 4, -1, true },
        { 6, 5, -1, false },
        { 7, 3, -1, true } } },
    { "and not later than the deadline, though neither is met",
      0.7,
      5000,
      0,
      { { 0, 5, -1, false },
        { 4999, 4, -1, false },
        { 5000, 4, -1, true },
        { 5001, 4, -1, true },
        { 6000, 5, -1, false },
        { 7000, 5, -1, false },
        { 11999, 4, -1, false },
        { 12000, 4, -1, true } } },
    { "a frozen reading lets one through each second",
      1.0,
      5000,
      1000,
      { { 0, 9, -1, false },
        { 999, 9, -1, false },
        { 1000, 9, -1, true },
        { 1001, 9, -1, false },
        { 2000, 9, -1, true },
        { 2500, 9, 0, true }, /* passes anyway: the engine has work */
        { 3000, 9, -1, false },
        { 3500, 9, -1, true } } },
    { "a reading that moves does not",
      1.0,
      5000,
      1000,
      { { 0, 9, -1, false },
        { 900, 8, -1, false },
        { 1800, 9, -1, false },
        { 2700, 8, -1, false },
        { 3600, 7, -1, false },
        { 4500, 8, -1, false },
        { 5400, 9, -1, false },
        { 6300, 8, -1, false } } },
    { "a gate that opened between starts to count anew",
      1.0,
      5000,
      1000,
      { { 0, 9, -1, false },
        { 500, 4, -1, true },
        { 5000, 9, -1, false },
        { 5999, 9, -1, false },
        { 6000, 9, -1, true },
        { 6001, 4, 0, true },
        { 9000, 9, -1, false },
        { 10000, 9, -1, true } } },
    { "without a probe it stays shut",
      1.0,
      5000,
      0,
      { { 0, 9, -1, false },
        { 1000, 9, -1, false },
        { 2000, 9, -1, false },
        { 100000, 9, -1, false },
        { 200000, 9, -1, false },
        { 300000, 9, -1, false },
        { 3000000, 9, -1, false },
        { 3000001, 4, -1, true } } },
    { "a dead scrape cannot lock it either",
      1.0,
      5000,
      1000,
      { { 0, ABSENT, -1, false },
        { 999, ABSENT, -1, false },
        { 1000, ABSENT, -1, true },
        { 1001, ABSENT, -1, false },
        { 1002, 9, -1, false },
        { 1003, ABSENT, -1, false },
        { 2003, ABSENT, -1, true },
        { 2004, 4, -1, true } } },
};

static void walk(int i, bool reload)
{
    stage_set(&s, "reopen_below", memories[i].reopen_below);
    stage_set(&s, "hold_ms", memories[i].hold_ms);
    stage_set(&s, "probe_ms", memories[i].probe_ms);
    stage_create(&s, NULL, 0);
    stage_signal(&s, "kv_pressure", 0.0);
    for (unsigned k = 0; k < STEPS; k++) {
        if (reload)
            stage_reload(&s);
        stage_signal(&s, "queue_depth", memories[i].step[k].queue);
        stage_priority(&s, memories[i].step[k].priority);
        const adp_verdict *w = stage_ask(&s, memories[i].step[k].ms);
        ck_assert_msg((w->action == ADP_ADMIT) == memories[i].step[k].admits,
                      "%s: step %u%s", memories[i].claim, k, reload ? ", reloaded" : "");
    }
}

START_TEST(it_remembers)
{
    walk(_i, false);
}
END_TEST

START_TEST(it_remembers_over_a_reload)
{
    walk(_i, true);
}
END_TEST

START_TEST(a_margin_is_that_of_the_threshold_that_refuses)
{
    stage_set(&s, "reopen_below", 0.5);
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "kv_pressure", 0.0);
    static const double margin[][2] = { { 4, -0.2 }, { 6, 0.2 },  { 5, 0.0 },
                                        { 4, 0.3 },  { 2, -0.6 }, { 4, -0.2 } };
    for (unsigned i = 0; i < 6; i++) {
        stage_signal(&s, "queue_depth", margin[i][0]);
        ck_assert_double_eq_tol(stage_ask(&s, i)->margin, margin[i][1], 1e-12);
    }
}
END_TEST

START_TEST(a_signal_that_vanishes_clears_the_gate)
{
    stage_set(&s, "reopen_below", 0.1);
    stage_set(&s, "hold_ms", 0);
    stage_set(&s, "absent_saturated", 0);
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "queue_depth", 9);
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_REJECT);
    stage_signal(&s, "queue_depth", 4);
    ck_assert_uint_eq(stage_ask(&s, 1)->action, ADP_REJECT);
    stage_signal(&s, "queue_depth", ABSENT);
    ck_assert_uint_eq(stage_ask(&s, 2)->action, ADP_ADMIT);
    stage_signal(&s, "queue_depth", 4);
    ck_assert_uint_eq(stage_ask(&s, 3)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_spoilt_state_is_a_fresh_start)
{
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "queue_depth", 9);
    stage_ask(&s, 0);
    stage_spoilt(&s);
}
END_TEST

START_TEST(its_page_names_every_parameter_and_its_example_loads)
{
    stage_create(&s, NULL, 0);
    stage_page(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("saturation");
    TCase *t = tcase_create("saturation");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_pooled_reading_is_judged_as_worked_out_by_hand, 0,
                        STAGE_N(rows));
    tcase_add_loop_test(t, readings_per_engine_go_before_the_pool, 0, STAGE_N(pools));
    tcase_add_loop_test(t, each_signal_is_read_of_the_engines_or_else_of_the_pool, 0,
                        STAGE_N(mixed_pools));
    tcase_add_loop_test(t, it_remembers, 0, STAGE_N(memories));
    tcase_add_loop_test(t, it_remembers_over_a_reload, 0, STAGE_N(memories));
    tcase_add_test(t, a_margin_is_that_of_the_threshold_that_refuses);
    tcase_add_test(t, a_signal_that_vanishes_clears_the_gate);
    tcase_add_test(t, a_spoilt_state_is_a_fresh_start);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
