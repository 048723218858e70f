/* SPDX-License-Identifier: MIT */
/* How saturated a pool of engines is, from its queues and KV caches.
 *
 * The formula of llm-d's utilization detector (llm-d-router, pkg/epp/framework/plugins/
 * flowcontrol/saturationdetector/utilization/detector.go, Saturation):
 *
 *     s_r = max(waiting_r / queue_threshold, kv_r / kv_threshold)   for each engine r
 *     saturation = mean of s_r                                      1: at its ideal capacity
 *
 * An engine counts as saturated as its scarcer resource; above 1 it is overloaded.
 *
 *  1. Which readings are used is settled for each signal apart. Where some engine has the
 *     signal, the engines' own; for that the policy declares both with ADP_REPLICAS. Where
 *     none has it, the pool's, which counts alike for each: the summed queue divided by the
 *     engines (`engines`, or those with readings if these are more), and the fullest KV
 *     cache. That is never below the mean where the engines are alike, and above it where
 *     one is fuller. With no engine known, the pool is one big one.
 *         a: kv .4, b: kv .6; pool: queue 8    s_a, s_b of their own kv and 4 waiting each
 *         a: nothing;         pool: both       s_a of the pool's both
 *         a: kv .4, b: queue 3; pool: both     a's queue is absent, and b's kv: what the
 *                                              pool's readings say was read elsewhere
 *  2. A reading that is absent is neither 0 nor stale. With `absent_saturated` it counts as
 *     1, as in the source; else it is left out. Either way what the readings at hand alone
 *     say is kept in `known`, so that a refusal that comes of absence can name it: a scrape
 *     that fails must not look like overload (llm-d #2165).
 *
 * A pure function of the view. [hot], any thread. */
#ifndef ADMITPERF_POOL_H
#define ADMITPERF_POOL_H

#include <admitperf/policy.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct adp_pool_rule {
    uint32_t n_signals;     /* that the policy declares: the length of a row */
    uint32_t queue, kv;     /* slots of queue_depth and kv_pressure */
    double queue_threshold; /* requests waiting in one engine; above 0 */
    double kv_threshold;    /* ratio; above 0 */
    double engines;         /* behind the pooled readings; from 1 */
    bool absent_saturated;
};

struct adp_pool {
    bool present;      /* there is a saturation */
    double saturation; /* valid if present */
    double known;      /* of the readings that are there alone; -1: none is */
    uint32_t binding;  /* slot that makes most of `known`; ADP_NONE: none is there */
};

/* What a reading counts for at most: far above any, and the sum over ADP_MAX_REPLICAS of
 * them is still a number, as a margin must be. */
#define ADP_POOL_MOST 1e300

/* Sums on the way to it; for adp_pool_read. */
struct adp_pool_sum {
    double all, known, by_queue, by_kv;
    uint32_t n_all, n_known, n_queues;
};

/* The readings that count for one engine, in shares of their thresholds. */
struct adp_pool_row {
    bool has_queue, has_kv;
    double queue, kv; /* 0 where there is none */
};

/* What there is of a signal for engine `r`; `own`: the signals that some engine has. */
static inline bool adp_pool_has(const adp_view *v, uint64_t own, uint32_t slot,
                                uint32_t r)
{
    return (own >> slot & 1 ? v->replica_present[r] : v->present) >> slot & 1;
}

static inline struct adp_pool_row adp_pool_row_of(const adp_view *v,
                                                  const struct adp_pool_rule *rule,
                                                  uint64_t own, uint32_t r)
{
    struct adp_pool_row row = { false, false, 0.0, 0.0 };
    double engines = rule->engines > v->n_replicas ? rule->engines : v->n_replicas;
    size_t at = (size_t)r * rule->n_signals;
    row.has_queue = adp_pool_has(v, own, rule->queue, r);
    row.has_kv = adp_pool_has(v, own, rule->kv, r);
    if (row.has_queue)
        row.queue = own >> rule->queue & 1
                        ? v->replica[at + rule->queue] / rule->queue_threshold
                        : v->signal[rule->queue] / (rule->queue_threshold * engines);
    if (row.has_kv)
        row.kv = (own >> rule->kv & 1 ? v->replica[at + rule->kv] : v->signal[rule->kv]) /
                 rule->kv_threshold;
    return row;
}

static inline void adp_pool_add(struct adp_pool_sum *sum,
                                const struct adp_pool_rule *rule, struct adp_pool_row row)
{
    double most = row.queue > row.kv ? row.queue : row.kv;
    most = most < ADP_POOL_MOST ? most : ADP_POOL_MOST;
    if (row.has_queue || row.has_kv) {
        sum->known += most;
        sum->n_known++;
        sum->n_queues += row.has_queue;
        *(row.has_queue && row.queue >= row.kv ? &sum->by_queue : &sum->by_kv) += most;
    }
    if (rule->absent_saturated) {
        bool whole = row.has_queue && row.has_kv;
        sum->all += whole || most > 1.0 ? most : 1.0;
        sum->n_all++;
    } else if (row.has_queue || row.has_kv) {
        sum->all += most;
        sum->n_all++;
    }
}

static inline struct adp_pool adp_pool_read(const adp_view *v,
                                            const struct adp_pool_rule *rule)
{
    struct adp_pool_sum sum = { 0, 0, 0, 0, 0, 0, 0 };
    struct adp_pool pool = { false, 0.0, -1.0, ADP_NONE };
    uint64_t own = 0;
    for (uint32_t r = 0; r < v->n_replicas; r++)
        own |= v->replica_present[r];
    for (uint32_t r = 0; r == 0 || r < v->n_replicas; r++)
        adp_pool_add(&sum, rule, adp_pool_row_of(v, rule, own, r));
    if (sum.n_all) {
        pool.present = true;
        pool.saturation = sum.all / sum.n_all;
    }
    if (sum.n_known) {
        pool.known = sum.known / sum.n_known;
        bool queue =
            sum.by_queue > sum.by_kv || (sum.n_queues && sum.by_queue == sum.by_kv);
        pool.binding = queue ? rule->queue : rule->kv;
    }
    return pool;
}

/* The reason of a refusal for saturation. `known_refuses`: whether pool.known alone would
 * have refused; if not, it is the absence that does, and no signal binds. */
static inline uint32_t adp_pool_reason(const struct adp_pool *pool,
                                       const struct adp_pool_rule *rule,
                                       bool known_refuses)
{
    if (!known_refuses)
        return ADP_R_SIGNAL_STALE;
    return pool->binding == rule->queue ? ADP_R_QUEUE_DEPTH : ADP_R_KV_PRESSURE;
}

#ifdef __cplusplus
}
#endif
#endif
