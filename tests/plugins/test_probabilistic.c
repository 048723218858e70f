/* SPDX-License-Identifier: MIT */
/* probabilistic: verdicts worked out by hand, and the share it rejects of a million ids. */
#include "core/split.h"
#include "tests/plugins/mixed_pools.h"
#include "tests/plugins/stage.h"

static struct stage s;

static void setup(void)
{
    stage_open(&s, "probabilistic");
}

static void teardown(void)
{
    stage_close(&s);
}

static const struct {
    const char *claim;
    double queue, kv;
    int64_t priority;
    double power, k, draw;
    uint32_t reason; /* 0: admitted */
    double p;        /* NAN: not set */
} rows[] = {
    { "an idle pool rejects nothing", 0, 0, -1, 5, 300, 0.0, 0, 0.0 },
    { "power 1 and k 1: p is the saturation, 2/5", 2, 0, -1, 1, 1, 0.39,
      ADP_R_QUEUE_DEPTH, 0.4 },
    { "a draw at p is admitted", 2, 0, -1, 1, 1, 0.4, 0, 0.4 },
    { "a draw above p is admitted", 2, 0, -1, 1, 1, 0.41, 0, 0.4 },
    { "power 2, k 3: 3 · 0.25^2", 0, 0.2, -1, 2, 3, 0.18, ADP_R_KV_PRESSURE, 0.1875 },
    { "p is cut at 1", 5, 0, -1, 5, 300, 0.999999, ADP_R_QUEUE_DEPTH, 1.0 },
    { "priority 0 is never rejected and has no p", 50, 1, 0, 5, 300, 0.0, 0, NAN },
    { "no reading at all is saturation 1, and called stale", ABSENT, ABSENT, -1, 5, 300,
      0.999999, ADP_R_SIGNAL_STALE, 1.0 },
    /* queue alone 0.4: p 0.4 would have rejected a draw of 0.3, not one of 0.5 */
    { "what the reading at hand would reject is not stale", 2, ABSENT, -1, 1, 1, 0.3,
      ADP_R_QUEUE_DEPTH, 1.0 },
    { "what it would not, is", 2, ABSENT, -1, 1, 1, 0.5, ADP_R_SIGNAL_STALE, 1.0 },
};

START_TEST(a_draw_is_judged_as_worked_out_by_hand)
{
    stage_set(&s, "power", rows[_i].power);
    stage_set(&s, "k", rows[_i].k);
    stage_create(&s, NULL, 0);
    stage_signal(&s, "queue_depth", rows[_i].queue);
    stage_signal(&s, "kv_pressure", rows[_i].kv);
    stage_priority(&s, rows[_i].priority);
    s.draw = rows[_i].draw;
    for (unsigned again = 0; again < 8; again++) { /* a retry draws the same */
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->reason == rows[_i].reason, "%s: %u", rows[_i].claim, w->reason);
        ck_assert_uint_eq(w->action, rows[_i].reason ? ADP_REJECT : ADP_ADMIT);
        if (isnan(rows[_i].p)) {
            ck_assert_uint_eq(w->set, 0);
            continue;
        }
        ck_assert_uint_eq(w->set, ADP_SET_P | ADP_SET_MARGIN);
        ck_assert_double_eq_tol(w->p, rows[_i].p, 1e-15);
        ck_assert_double_eq_tol(w->margin, rows[_i].p - s.draw, 1e-15);
    }
}
END_TEST

START_TEST(left_out_absence_admits_and_has_no_p)
{
    stage_set(&s, "absent_saturated", 0);
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_ADMIT);
    ck_assert_uint_eq(s.verdict.set, 0);
}
END_TEST

/* --- the curve over a million ids --- */

enum { IDS = 1000000 };

static double *draws_of_ids(void)
{
    double *draw = malloc(IDS * sizeof *draw);
    ck_assert_ptr_nonnull(draw);
    for (unsigned i = 0; i < IDS; i++) {
        char id[32];
        int n = snprintf(id, sizeof id, "request-%u", i);
        draw[i] = adp_split_of("curve", 5, id, (size_t)n).draw;
    }
    return draw;
}

/* 300 · saturation^5, by hand: 0.05^5 = 3.125e-7 and so on. */
static const struct {
    double saturation, share;
} curve[] = {
    { 0.05, 0.00009375 }, { 0.08, 0.00098304 }, { 0.10, 0.003 },
    { 0.15, 0.02278125 }, { 0.20, 0.096 },      { 0.25, 0.29296875 },
    { 0.30, 0.729 },      { 0.3196, 1.0 },      { 0.0, 0.0 },
};

START_TEST(the_rejected_share_of_a_million_ids_is_the_curve)
{
    double *draw = draws_of_ids();
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "queue_depth", 0);
    for (unsigned k = 0; k < sizeof curve / sizeof curve[0]; k++) {
        double share = curve[k].share, rejected = 0;
        stage_signal(&s, "kv_pressure", 0.8 * curve[k].saturation);
        for (unsigned i = 0; i < IDS; i++) {
            s.draw = draw[i];
            rejected += stage_ask(&s, 0)->action == ADP_REJECT;
            STAGE_KEEPS(s.verdict.set & ADP_SET_P);
            STAGE_KEEPS(fabs(s.verdict.p - share) < 1e-6);
        }
        /* five standard deviations of a binomial; at 0 and 1 there are none */
        ck_assert_msg(fabs(rejected - share * IDS) <= 5 * sqrt(share * (1 - share) * IDS),
                      "saturation %g: %g of %d rejected", curve[k].saturation, rejected,
                      IDS);
    }
    free(draw);
}
END_TEST

START_TEST(a_retried_id_gets_its_first_verdict)
{
    double *draw = draws_of_ids();
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "queue_depth", 0);
    stage_signal(&s, "kv_pressure", 0.8 * 0.25);
    for (unsigned i = 0; i < 2000; i++) {
        s.draw = draw[i];
        uint32_t first = stage_ask(&s, i)->action;
        s.draw = draw[(i * 7919) % IDS]; /* another between */
        stage_ask(&s, i + 1000);
        char id[32];
        int n = snprintf(id, sizeof id, "request-%u", i);
        s.draw = adp_split_of("curve", 5, id, (size_t)n).draw;
        ck_assert_uint_eq(stage_ask(&s, i + 60000)->action, first);
    }
    free(draw);
}
END_TEST

START_TEST(a_frozen_reading_that_rejects_all_lets_one_through_each_second)
{
    static const struct {
        uint64_t ms;
        bool admits;
    } steps[] = { { 0, false },    { 999, false }, { 1000, true },
                  { 1001, false }, { 2000, true }, { 2001, false } };
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        stage_priority(&s, -1);
        stage_signal(&s, "kv_pressure", 0.99);
        stage_signal(&s, "queue_depth", 0);
        s.draw = 0.5;
        for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            if (reload)
                stage_reload(&s);
            ck_assert_msg((stage_ask(&s, steps[i].ms)->action == ADP_ADMIT) ==
                              steps[i].admits,
                          "step %u", i);
        }
    }
}
END_TEST

START_TEST(readings_per_engine_go_before_the_pool)
{
    stage_set(&s, "power", 1);
    stage_set(&s, "k", 1);
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "kv_pressure", 0.8); /* the fullest alone would be p = 1 */
    stage_signal(&s, "queue_depth", 1);
    stage_engine(&s, 0, "kv_pressure", 0.8); /* (1 + 0.2) / 2 */
    stage_engine(&s, 0, "queue_depth", 0);
    stage_engine(&s, 1, "kv_pressure", 0.1);
    stage_engine(&s, 1, "queue_depth", 1);
    s.draw = 0.5999;
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_REJECT);
    ck_assert_double_eq_tol(s.verdict.p, 0.6, 1e-15);
    s.draw = 0.6001;
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_ADMIT);
}
END_TEST

START_TEST(each_signal_is_read_of_the_engines_or_else_of_the_pool)
{
    const struct mixed_pool *pool = &mixed_pools[_i];
    stage_set(&s, "power", 1);
    stage_set(&s, "k", 1);
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    mixed_pool_set(&s, pool);
    s.draw = 0.999; /* rejected at 1 alone */
    for (unsigned again = 0; again < 8; again++) {
        const adp_verdict *w = stage_ask(&s, 100);
        ck_assert_msg(w->reason == pool->reason, "%s: %u", pool->claim, w->reason);
        ck_assert_uint_eq(w->action, pool->reason ? ADP_REJECT : ADP_ADMIT);
        ck_assert_uint_eq(w->binding, pool->binding);
        ck_assert_double_eq_tol(w->p, pool->saturation < 1 ? pool->saturation : 1, 1e-15);
    }
}
END_TEST

START_TEST(a_spoilt_state_is_a_fresh_start)
{
    stage_create(&s, NULL, 0);
    stage_priority(&s, -1);
    stage_signal(&s, "kv_pressure", 0.99);
    stage_ask(&s, 5);
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
    Suite *suite = suite_create("probabilistic");
    TCase *t = tcase_create("probabilistic");
    tcase_set_timeout(t, 120); /* nine million decisions, under sanitizers too */
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_draw_is_judged_as_worked_out_by_hand, 0, STAGE_N(rows));
    tcase_add_test(t, left_out_absence_admits_and_has_no_p);
    tcase_add_test(t, the_rejected_share_of_a_million_ids_is_the_curve);
    tcase_add_test(t, a_retried_id_gets_its_first_verdict);
    tcase_add_test(t, a_frozen_reading_that_rejects_all_lets_one_through_each_second);
    tcase_add_test(t, readings_per_engine_go_before_the_pool);
    tcase_add_loop_test(t, each_signal_is_read_of_the_engines_or_else_of_the_pool, 0,
                        STAGE_N(mixed_pools));
    tcase_add_test(t, a_spoilt_state_is_a_fresh_start);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
