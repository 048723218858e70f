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
 *  1. Readings per engine are used where the host has them: for that the policy declares
 *     both signals with ADP_REPLICAS. Without, the pool is one big
 *     engine: its summed queue divided by `engines`, and the fullest KV cache. That is never
 *     below the mean where the engines are alike, and above it where one is fuller.
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

static inline void adp_pool_add(struct adp_pool_sum *sum,
                                const struct adp_pool_rule *rule, const double *row,
                                uint64_t present, double engines)
{
    bool has_queue = present >> rule->queue & 1, has_kv = present >> rule->kv & 1;
    double queue = has_queue ? row[rule->queue] / (rule->queue_threshold * engines) : 0.0;
    double kv = has_kv ? row[rule->kv] / rule->kv_threshold : 0.0;
    double most = queue > kv ? queue : kv;
    most = most < ADP_POOL_MOST ? most : ADP_POOL_MOST;
    if (has_queue || has_kv) {
        sum->known += most;
        sum->n_known++;
        sum->n_queues += has_queue;
        *(has_queue && queue >= kv ? &sum->by_queue : &sum->by_kv) += most;
    }
    if (rule->absent_saturated) {
        bool whole = has_queue && has_kv;
        sum->all += whole || most > 1.0 ? most : 1.0;
        sum->n_all++;
    } else if (has_queue || has_kv) {
        sum->all += most;
        sum->n_all++;
    }
}

static inline struct adp_pool adp_pool_read(const adp_view *v,
                                            const struct adp_pool_rule *rule)
{
    struct adp_pool_sum sum = { 0, 0, 0, 0, 0, 0, 0 };
    struct adp_pool pool = { false, 0.0, -1.0, ADP_NONE };
    for (uint32_t r = 0; r < v->n_replicas; r++)
        adp_pool_add(&sum, rule, v->replica + (size_t)r * rule->n_signals,
                     v->replica_present[r], 1.0);
    if (!v->n_replicas)
        adp_pool_add(&sum, rule, v->signal, v->present, rule->engines);
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
