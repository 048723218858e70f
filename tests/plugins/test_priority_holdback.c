/* SPDX-License-Identifier: MIT */
/* priority_holdback: ceilings worked out by hand. One engine, ten waiting requests are
 * saturation 1, so that `queue` is tenths; ceilings go from 1 down to 0.4. */
#include "tests/plugins/mixed_pools.h"
#include "tests/plugins/stage.h"

static struct stage s;

static void setup(void)
{
    stage_open(&s, "priority_holdback");
    stage_set(&s, "min_ceiling", 0.4);
    stage_set(&s, "queue_depth_threshold", 10);
    stage_set(&s, "probe_ms", 0);
    stage_signal(&s, "kv_pressure", 0.0);
}

static void teardown(void)
{
    stage_close(&s);
}

static const adp_verdict *ask(int64_t priority, double queue, uint64_t ms)
{
    stage_priority(&s, priority);
    stage_signal(&s, "queue_depth", queue);
    return stage_ask(&s, ms);
}

/* Four priorities are seen at 0 ms: 10, 5, 0, -10. */
static const struct {
    const char *claim;
    bool by_value;
    int64_t priority;
    double ceiling;
} ceilings[] = {
    { "by rank the highest has max", false, 10, 1.0 },
    { "the second a third of the way down", false, 5, 0.8 },
    { "the third two", false, 0, 0.6 },
    { "the lowest has min", false, -10, 0.4 },
    { "by value the highest has max", true, 10, 1.0 },
    { "the others stand where their values do: 0.4 + 15/20 · 0.6", true, 5, 0.85 },
    { "half way: 0.4 + 10/20 · 0.6", true, 0, 0.7 },
    { "the lowest has min", true, -10, 0.4 },
};

START_TEST(a_priority_is_deferred_at_its_ceiling)
{
    stage_set(&s, "by_value", ceilings[_i].by_value);
    stage_create(&s, NULL, 0);
    static const int64_t seen[] = { 0, 10, -10, 5 };
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(ask(seen[i], 0, 0)->action, ADP_ADMIT);
    double queue = ceilings[_i].ceiling * 10.0;
    const adp_verdict *w = ask(ceilings[_i].priority, queue - 0.01, 1);
    ck_assert_msg(w->action == ADP_ADMIT, "below: %s", ceilings[_i].claim);
    ck_assert_double_eq_tol(w->margin, -0.001, 1e-12);
    w = ask(ceilings[_i].priority, queue + 1e-9, 1);
    ck_assert_msg(w->action == ADP_DEFER, "at: %s", ceilings[_i].claim);
    ck_assert_uint_eq(w->reason, ADP_R_QUEUE_DEPTH);
    ck_assert_uint_eq(w->binding, 0);
    ck_assert_double_eq_tol(w->margin, 0.0, 1e-9);
}
END_TEST

/* Two or three priorities, so far out or so near that they are one double, or that their
 * difference is no int64_t. */
static const struct {
    const char *claim;
    int64_t seen[3]; /* the highest first, the lowest last */
    double ceiling;  /* of the one in the middle, by value */
} far_out[] = {
    { "2^53 and the next",
      { (INT64_C(1) << 53) + 1, INT64_C(1) << 53, INT64_C(1) << 53 },
      0.4 },
    { "the two largest", { INT64_MAX, INT64_MAX, INT64_MAX - 1 }, 1.0 },
    { "the three largest", { INT64_MAX, INT64_MAX - 1, INT64_MAX - 2 }, 0.7 },
    { "the three smallest", { INT64_MIN + 2, INT64_MIN + 1, INT64_MIN }, 0.7 },
    { "from end to end: 0.4 + 2^63/(2^64 - 1) · 0.6", { INT64_MAX, 0, INT64_MIN }, 0.7 },
    { "0.4 + 1/4 · 0.6", { INT64_MAX, INT64_MIN / 2, INT64_MIN }, 0.55 },
};

START_TEST(priorities_that_are_one_double_have_ceilings_of_their_own)
{
    stage_set(&s, "by_value", 1);
    stage_create(&s, NULL, 0);
    const double ceiling[3] = { 1.0, far_out[_i].ceiling, 0.4 };
    for (unsigned i = 0; i < 3; i++)
        ask(far_out[_i].seen[i], 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        const adp_verdict *w = ask(far_out[_i].seen[i], ceiling[i] * 10.0 - 0.01, 1);
        ck_assert_msg(w->action == ADP_ADMIT, "below: %s", far_out[_i].claim);
        ck_assert_double_eq_tol(w->margin, -0.001, 1e-12);
        w = ask(far_out[_i].seen[i], ceiling[i] * 10.0 + 1e-9, 1);
        ck_assert_msg(w->action == ADP_DEFER, "at: %s", far_out[_i].claim);
        ck_assert_double_eq_tol(w->margin, 0.0, 1e-9);
    }
}
END_TEST

START_TEST(a_floor_of_0_defers_at_saturation_0)
{
    stage_set(&s, "min_ceiling", 0.0);
    stage_create(&s, NULL, 0);
    ask(1, 0, 0);
    ck_assert_uint_eq(ask(0, 0, 0)->action, ADP_DEFER);
    ck_assert_double_eq(s.verdict.margin, 0.0);
    ck_assert_uint_eq(s.verdict.set, ADP_SET_MARGIN); /* nothing was seen to leave */
}
END_TEST

START_TEST(a_lone_priority_has_the_highest_ceiling)
{
    stage_create(&s, NULL, 0);
    ck_assert_uint_eq(ask(-5, 9.99, 0)->action, ADP_ADMIT);
    ck_assert_uint_eq(ask(-5, 10.0, 0)->action, ADP_DEFER);
}
END_TEST

START_TEST(no_priority_is_priority_0)
{
    stage_create(&s, NULL, 0);
    ask(1, 0, 0);
    s.request.present = 0;
    stage_signal(&s, "queue_depth", 4.0); /* of two, 0 is the lowest: 0.4 */
    ck_assert_uint_eq(stage_ask(&s, 1)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(0, 3.99, 2)->action, ADP_ADMIT);
    /* and there are still two: the other has the highest ceiling */
    ck_assert_uint_eq(ask(1, 9.99, 3)->action, ADP_ADMIT);
}
END_TEST

static const uint64_t IDLE_MS = 600000;

START_TEST(a_priority_not_seen_for_idle_s_is_ranked_no_more)
{
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        ask(1, 0, 1000);
        ck_assert_uint_eq(ask(0, 4.0, 2000)->action, ADP_DEFER);
        if (reload)
            stage_reload(&s);
        ck_assert_uint_eq(ask(0, 4.0, 1000 + IDLE_MS - 1)->action, ADP_DEFER);
        if (reload)
            stage_reload(&s);
        ck_assert_uint_eq(ask(0, 4.0, 1000 + IDLE_MS)->action, ADP_ADMIT);
        ck_assert_uint_eq(ask(0, 10.0, 1000 + IDLE_MS)->action, ADP_DEFER);
    }
}
END_TEST

START_TEST(more_priorities_than_there_is_room_for_drop_the_longest_idle)
{
    stage_create(&s, NULL, 0);
    for (int64_t p = 0; p < 100; p++)
        ask(p, 0, (uint64_t)p);
    /* 36 to 99 are left: 36 is the lowest of 64, the one above it at 0.4 + 0.6/63 */
    ck_assert_uint_eq(ask(36, 4.0 + 1e-9, 100)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(37, 4.0, 100)->action, ADP_ADMIT);
    ck_assert_uint_eq(ask(37, 4.0 + 6.0 / 63 + 1e-9, 100)->action, ADP_DEFER);
}
END_TEST

START_TEST(absence_is_saturation_1_and_called_stale)
{
    stage_create(&s, NULL, 0);
    const adp_verdict *w = ask(0, ABSENT, 0);
    ck_assert_uint_eq(w->action, ADP_DEFER);
    ck_assert_uint_eq(w->reason, ADP_R_SIGNAL_STALE);
    ck_assert_uint_eq(w->binding, ADP_NONE);
}
END_TEST

START_TEST(left_out_absence_admits)
{
    stage_set(&s, "absent_saturated", 0);
    stage_create(&s, NULL, 0);
    stage_signal(&s, "kv_pressure", ABSENT);
    ck_assert_uint_eq(ask(0, ABSENT, 0)->action, ADP_ADMIT);
    ck_assert_uint_eq(s.verdict.set, 0);
}
END_TEST

/* 20 admitted at 0 ms, asked first at 0.5 s how fast they leave, 12 of them end at 1 s: 8
 * in flight, and at 10.5 s 1.2 a second were seen to leave. From saturation 1 to 0.4 is 0.6 of 8: 4.8, in 4000 ms; spread by half. */
START_TEST(the_retry_time_is_what_must_leave_at_the_rate_it_leaves)
{
    stage_create(&s, NULL, 0);
    ask(5, 0, 0);
    stage_end(&s, s.verdict.ticket, ADP_NOT_RUN, -1, -1, 0);
    for (unsigned i = 0; i < 20; i++)
        ask(0, 0, 0);
    uint64_t ticket = s.verdict.ticket;
    ck_assert_uint_eq(ask(0, 10, 500)->set, ADP_SET_MARGIN); /* nothing measured yet */
    static const uint32_t kind[] = { ADP_DONE, ADP_FAILED, ADP_CANCELLED };
    for (unsigned i = 0; i < 12; i++)
        stage_end(&s, ticket, kind[i % 3], -1, -1, 1000);
    ck_assert_uint_eq(ask(0, 10, 10499)->set, ADP_SET_MARGIN);
    uint32_t least = UINT32_MAX, most = 0;
    for (unsigned i = 0; i < 100; i++) {
        s.draw = i / 100.0;
        ck_assert_uint_eq(ask(0, 10, 10500)->set, ADP_SET_MARGIN | ADP_SET_RETRY);
        ck_assert_uint_ge(s.verdict.retry_after_ms, 4000);
        ck_assert_uint_le(s.verdict.retry_after_ms, 6000);
        least = s.verdict.retry_after_ms < least ? s.verdict.retry_after_ms : least;
        most = s.verdict.retry_after_ms > most ? s.verdict.retry_after_ms : most;
    }
    ck_assert_uint_lt(least, 4100);
    ck_assert_uint_gt(most, 5900);
    /* from saturation 2 it is (2 - 0.4)/2 of 8: 6.4, in 5333 ms */
    ask(0, 20, 10500);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 5334);
    ck_assert_uint_le(s.verdict.retry_after_ms, 8000);
    /* from 0.5 it is 0.1/0.5 of 8: 1.6, in 1333 ms */
    ask(0, 5, 10500);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 1333);
    ck_assert_uint_le(s.verdict.retry_after_ms, 2000);
    /* from 0.41 it is 0.2 of one, and one is the least: 833 ms */
    ask(0, 4.1, 10500);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 834);
    ck_assert_uint_le(s.verdict.retry_after_ms, 1250);
}
END_TEST

START_TEST(a_reload_knows_the_rate_and_not_what_was_in_flight)
{
    stage_create(&s, NULL, 0);
    ask(5, 0, 0);
    for (unsigned i = 0; i < 20; i++)
        ask(0, 0, 0);
    uint64_t old = s.verdict.ticket;
    for (unsigned i = 0; i < 12; i++)
        stage_end(&s, old, ADP_DONE, -1, -1, 1000);
    stage_reload(&s);
    for (unsigned i = 0; i < 4; i++)
        ask(0, 0, 10999); /* four in flight, not 4 + 8 */
    for (unsigned i = 0; i < 8; i++)
        stage_end(&s, old, ADP_LOST, -1, -1, 10999); /* lands nothing of this life */
    /* 0.6 of 4 must leave, at 1.2 a second: 2000 ms and at most half more */
    ck_assert_uint_eq(ask(0, 10, 11000)->action, ADP_DEFER);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 2000);
    ck_assert_uint_le(s.verdict.retry_after_ms, 3001);
}
END_TEST

START_TEST(a_frozen_reading_lets_one_through_each_second)
{
    stage_set(&s, "probe_ms", 1000);
    stage_create(&s, NULL, 0);
    ask(5, 0, 0);
    ck_assert_uint_eq(ask(0, 10, 0)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(5, 10, 999)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(0, 10, 1000)->action, ADP_ADMIT);
    ck_assert_uint_eq(s.verdict.set, 0); /* the gate holds: no margin */
    ck_assert_uint_ne(s.verdict.ticket, 0);
    ck_assert_uint_eq(ask(0, 10, 1001)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(5, 9, 1500)->action, ADP_ADMIT);  /* below its ceiling */
    ck_assert_uint_eq(ask(0, 10, 2010)->action, ADP_DEFER); /* counts anew */
    ck_assert_uint_eq(ask(0, 10, 3009)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(0, 10, 3010)->action, ADP_ADMIT);
}
END_TEST

START_TEST(readings_per_engine_go_before_the_pool)
{
    stage_create(&s, NULL, 0);
    stage_engine(&s, 0, "queue_depth", 10); /* (1 + 0.2) / 2 */
    stage_engine(&s, 0, "kv_pressure", 0);
    stage_engine(&s, 1, "queue_depth", 2);
    stage_engine(&s, 1, "kv_pressure", 0);
    ck_assert_uint_eq(ask(0, 10, 0)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(s.verdict.margin, 0.6 - 1.0, 1e-15);
}
END_TEST

START_TEST(each_signal_is_read_of_the_engines_or_else_of_the_pool)
{
    const struct mixed_pool *pool = &mixed_pools[_i];
    stage_set(&s, "queue_depth_threshold", 5);
    stage_create(&s, NULL, 0);
    mixed_pool_set(&s, pool); /* and no priority: alone, its ceiling is 1 */
    for (unsigned again = 0; again < 8; again++) {
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->reason == pool->reason, "%s: %u", pool->claim, w->reason);
        ck_assert_uint_eq(w->action, pool->reason ? ADP_DEFER : ADP_ADMIT);
        ck_assert_uint_eq(w->binding, pool->binding);
        ck_assert_double_eq_tol(w->margin, pool->saturation - 1, 1e-15);
    }
}
END_TEST

START_TEST(a_floor_that_is_not_below_the_ceiling_is_refused_with_words)
{
    char error[64] = "";
    stage_set(&s, "max_ceiling", 0.4);
    const adp_setup bad = { .size = sizeof bad,
                            .n_instances = 1,
                            .param = s.param,
                            .error = error,
                            .error_cap = sizeof error };
    ck_assert_ptr_null(s.loaded->policy.create(&bad));
    ck_assert_str_eq(error, "min_ceiling is not below max_ceiling");
    stage_set(&s, "max_ceiling", 1.0);
    stage_create(&s, NULL, 0);
}
END_TEST

START_TEST(a_spoilt_state_is_a_fresh_start)
{
    stage_create(&s, NULL, 0);
    for (int64_t p = 0; p < 100; p++)
        ask(p, 0, (uint64_t)p);
    stage_reload(&s); /* full, it fits */
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
    Suite *suite = suite_create("priority_holdback");
    TCase *t = tcase_create("priority_holdback");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_priority_is_deferred_at_its_ceiling, 0, STAGE_N(ceilings));
    tcase_add_loop_test(t, priorities_that_are_one_double_have_ceilings_of_their_own, 0,
                        STAGE_N(far_out));
    tcase_add_test(t, a_floor_of_0_defers_at_saturation_0);
    tcase_add_test(t, a_lone_priority_has_the_highest_ceiling);
    tcase_add_test(t, no_priority_is_priority_0);
    tcase_add_test(t, a_priority_not_seen_for_idle_s_is_ranked_no_more);
    tcase_add_test(t, more_priorities_than_there_is_room_for_drop_the_longest_idle);
    tcase_add_test(t, absence_is_saturation_1_and_called_stale);
    tcase_add_test(t, left_out_absence_admits);
    tcase_add_test(t, the_retry_time_is_what_must_leave_at_the_rate_it_leaves);
    tcase_add_test(t, a_reload_knows_the_rate_and_not_what_was_in_flight);
    tcase_add_test(t, a_frozen_reading_lets_one_through_each_second);
    tcase_add_test(t, readings_per_engine_go_before_the_pool);
    tcase_add_loop_test(t, each_signal_is_read_of_the_engines_or_else_of_the_pool, 0,
                        STAGE_N(mixed_pools));
    tcase_add_test(t, a_floor_that_is_not_below_the_ceiling_is_refused_with_words);
    tcase_add_test(t, a_spoilt_state_is_a_fresh_start);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
