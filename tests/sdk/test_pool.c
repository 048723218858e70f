/* SPDX-License-Identifier: MIT */
/* The saturation of a pool (admitperf/pool.h), worked out by hand: 5 waiting requests or
 * 80 % of the KV cache are 1. Slots: another signal, the queue, the cache. */
#include <admitperf/pool.h>

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT NAN
enum { OTHER, QUEUE, KV, N_SIGNALS };

static const struct {
    const char *claim;
    unsigned engines;     /* that have readings; 0: the pool has */
    double reading[3][2]; /* queue, kv */
    double behind;        /* the pooled reading */
    double saturation[2]; /* absent left out; absent saturated. ABSENT: there is none */
    double known;
    uint32_t binding;
} rows[] = {
    { "a pooled queue", 0, { { 4, 0.2 } }, 1, { 0.8, 0.8 }, 0.8, QUEUE },
    { "a pooled cache", 0, { { 1, 0.6 } }, 1, { 0.75, 0.75 }, 0.75, KV },
    { "a pooled queue of four", 0, { { 10, 0.2 } }, 4, { 0.5, 0.5 }, 0.5, QUEUE },
    { "equal terms are the queue's", 0, { { 5, 0.8 } }, 1, { 1, 1 }, 1, QUEUE },
    { "idle", 0, { { 0, 0 } }, 1, { 0, 0 }, 0, QUEUE },
    { "nothing known", 0, { { ABSENT, ABSENT } }, 1, { ABSENT, 1 }, -1, ADP_NONE },
    { "a queue unknown", 0, { { ABSENT, 0.4 } }, 1, { 0.5, 1 }, 0.5, KV },
    { "a cache unknown", 0, { { 2, ABSENT } }, 1, { 0.4, 1 }, 0.4, QUEUE },
    { "more than 1 though half is unknown",
      0,
      { { 8, ABSENT } },
      1,
      { 1.6, 1.6 },
      1.6,
      QUEUE },
    { "idle, the queue unknown", 0, { { ABSENT, 0 } }, 1, { 0, 1 }, 0, KV },

    { "a mean of engines", 2, { { 10, 0 }, { 0, 0.4 } }, 9, { 1.25, 1.25 }, 1.25, QUEUE },
    { "caches make most of it",
      3,
      { { 3, 0 }, { 0, 0.32 }, { 0, 0.32 } },
      9,
      { 1.4 / 3, 1.4 / 3 },
      1.4 / 3,
      KV },
    { "one engine unknown",
      2,
      { { 2, 0 }, { ABSENT, ABSENT } },
      9,
      { 0.4, 0.7 },
      0.4,
      QUEUE },
    { "half an engine unknown",
      2,
      { { 2, 0 }, { ABSENT, 0.08 } },
      9,
      { 0.25, 0.7 },
      0.25,
      QUEUE },
    { "all engines unknown",
      2,
      { { ABSENT, ABSENT }, { ABSENT, ABSENT } },
      9,
      { ABSENT, 1 },
      -1,
      ADP_NONE },
};

static struct adp_pool_rule rule_of(double engines, bool absent_saturated)
{
    return (struct adp_pool_rule) { .n_signals = N_SIGNALS,
                                    .queue = QUEUE,
                                    .kv = KV,
                                    .queue_threshold = 5,
                                    .kv_threshold = 0.8,
                                    .engines = engines,
                                    .absent_saturated = absent_saturated };
}

/* `saturation`: NaN where there is none. */
static void pool_is(const struct adp_pool *pool, const char *claim, double saturation,
                    double known, uint32_t binding)
{
    ck_assert_msg(pool->present == !isnan(saturation), "%s", claim);
    if (pool->present)
        ck_assert_msg(fabs(pool->saturation - saturation) < 1e-12, "%s: %.17g", claim,
                      pool->saturation);
    ck_assert_double_eq_tol(pool->known, known, 1e-12);
    ck_assert_uint_eq(pool->binding, binding);
}

START_TEST(a_saturation_is_as_worked_out_by_hand)
{
    double signal[N_SIGNALS] = { 77, 1e9, 1e9 }, engine[3 * N_SIGNALS];
    uint64_t present = 0, engine_present[3] = { 0 };
    for (unsigned r = 0; r < 3; r++)
        for (unsigned i = 0; i < N_SIGNALS; i++) {
            double value = i == OTHER ? 77 : rows[_i].reading[r][i - 1];
            engine[r * N_SIGNALS + i] = isnan(value) ? -1e9 : value;
            engine_present[r] |= (uint64_t)!isnan(value) << i;
        }
    if (!rows[_i].engines)
        memcpy(signal, engine, sizeof signal);
    /* The pool has an aggregate of what engines have; here it is of no account. */
    for (unsigned r = 0; r == 0 || r < rows[_i].engines; r++)
        present |= engine_present[r];
    const adp_view view = { .size = sizeof view,
                            .signal = signal,
                            .present = present,
                            .n_replicas = rows[_i].engines,
                            .replica = engine,
                            .replica_present = engine_present };
    for (unsigned saturated = 0; saturated < 2; saturated++) {
        const struct adp_pool_rule rule = rule_of(rows[_i].behind, saturated);
        struct adp_pool pool = adp_pool_read(&view, &rule);
        pool_is(&pool, rows[_i].claim, rows[_i].saturation[saturated], rows[_i].known,
                rows[_i].binding);
        ck_assert_uint_eq(adp_pool_reason(&pool, &rule, false), ADP_R_SIGNAL_STALE);
        if (pool.binding != ADP_NONE)
            ck_assert_uint_eq(adp_pool_reason(&pool, &rule, true),
                              pool.binding == QUEUE ? ADP_R_QUEUE_DEPTH
                                                    : ADP_R_KV_PRESSURE);
    }
}
END_TEST

/* Some readings are the engines', some the pool's. */
static const struct {
    const char *claim;
    unsigned engines;
    double reading[2][2]; /* queue, kv */
    double pool[2];       /* the same */
    double behind;        /* the pooled reading */
    double saturation[2]; /* absent left out; absent saturated. ABSENT: there is none */
    double known;
    uint32_t binding;
} mixed[] = {
    { "nothing of the engine's own: the pool's 2/5 and .2/.8",
      1,
      { { ABSENT, ABSENT } },
      { 2, 0.2 },
      1,
      { 0.4, 0.4 },
      0.4,
      QUEUE },
    { "nor the pool's",
      1,
      { { ABSENT, ABSENT } },
      { ABSENT, ABSENT },
      1,
      { ABSENT, 1 },
      -1,
      ADP_NONE },
    { "own cache .4/.8, the pool's queue 4/5",
      1,
      { { ABSENT, 0.4 } },
      { 4, 0.99 },
      1,
      { 0.8, 0.8 },
      0.8,
      QUEUE },
    { "own caches .5 and .9, half of the pool's queue in each: 8/10",
      2,
      { { ABSENT, 0.4 }, { ABSENT, 0.72 } },
      { 8, 0 },
      1,
      { 0.85, 0.85 },
      0.85,
      KV },
    { "or a quarter, when there are said to be four: 8/20",
      2,
      { { ABSENT, 0.4 }, { ABSENT, 0.72 } },
      { 8, 0 },
      4,
      { 0.7, 0.7 },
      0.7,
      KV },
    { "own queues 0 and 10/5, the pool's cache .6/.8 in both",
      2,
      { { 0, ABSENT }, { 10, ABSENT } },
      { 0, 0.6 },
      1,
      { 1.375, 1.375 },
      1.375,
      QUEUE },
    { "own cache .5 and none, 3/10 of the pool's queue: .5 and .3, or 1",
      2,
      { { ABSENT, 0.4 }, { ABSENT, ABSENT } },
      { 3, 0.9 },
      1,
      { 0.4, 0.75 },
      0.4,
      KV },
    { "own cache .5, own queue 3/5, and neither the other",
      2,
      { { ABSENT, 0.4 }, { 3, ABSENT } },
      { 30, 0.9 },
      1,
      { 0.55, 1 },
      0.55,
      QUEUE },
    { "the pool's queue alone: 4/10 in each",
      2,
      { { ABSENT, ABSENT }, { ABSENT, ABSENT } },
      { 4, ABSENT },
      1,
      { 0.4, 1 },
      0.4,
      QUEUE },
    { "own queue 2/5 and no cache anywhere",
      1,
      { { 2, ABSENT } },
      { 9, ABSENT },
      1,
      { 0.4, 1 },
      0.4,
      QUEUE },
};

static uint64_t fill(double *row, const double reading[2])
{
    row[OTHER] = 77;
    row[QUEUE] = isnan(reading[0]) ? -1e9 : reading[0];
    row[KV] = isnan(reading[1]) ? 1e9 : reading[1];
    return 1u << OTHER | (uint64_t)!isnan(reading[0]) << QUEUE |
           (uint64_t)!isnan(reading[1]) << KV;
}

START_TEST(a_signal_that_no_engine_has_is_read_of_the_pool)
{
    double signal[N_SIGNALS], engine[2 * N_SIGNALS];
    uint64_t engine_present[2];
    for (unsigned r = 0; r < 2; r++)
        engine_present[r] = fill(engine + r * N_SIGNALS, mixed[_i].reading[r]);
    const adp_view view = { .size = sizeof view,
                            .signal = signal,
                            .present = fill(signal, mixed[_i].pool),
                            .n_replicas = mixed[_i].engines,
                            .replica = engine,
                            .replica_present = engine_present };
    for (unsigned saturated = 0; saturated < 2; saturated++) {
        const struct adp_pool_rule rule = rule_of(mixed[_i].behind, saturated);
        struct adp_pool pool = adp_pool_read(&view, &rule);
        pool_is(&pool, mixed[_i].claim, mixed[_i].saturation[saturated], mixed[_i].known,
                mixed[_i].binding);
    }
}
END_TEST

START_TEST(a_saturation_is_a_number_whatever_is_read)
{
    static const double engine[2 * N_SIGNALS] = { 77, DBL_MAX, 1, 77, DBL_MAX, 1 };
    static const uint64_t present[2] = { 7, 7 };
    const adp_view view = { .size = sizeof view,
                            .n_replicas = 2,
                            .replica = engine,
                            .replica_present = present };
    const struct adp_pool_rule rule = { .n_signals = N_SIGNALS,
                                        .queue = QUEUE,
                                        .kv = KV,
                                        .queue_threshold = 1,
                                        .kv_threshold = 0.8,
                                        .engines = 1 };
    struct adp_pool pool = adp_pool_read(&view, &rule);
    ck_assert(isfinite(pool.saturation) && pool.saturation > 1e299);
    ck_assert(isfinite(pool.known) && pool.known > 1e299);
    ck_assert_uint_eq(pool.binding, QUEUE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");
    tcase_add_loop_test(t, a_saturation_is_as_worked_out_by_hand, 0,
                        (int)(sizeof rows / sizeof rows[0]));
    tcase_add_loop_test(t, a_signal_that_no_engine_has_is_read_of_the_pool, 0,
                        (int)(sizeof mixed / sizeof mixed[0]));
    tcase_add_test(t, a_saturation_is_a_number_whatever_is_read);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
