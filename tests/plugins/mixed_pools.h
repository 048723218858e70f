/* SPDX-License-Identifier: MIT */
/* Pools of which some readings are the engines' own and some the pool's, for the four
 * policies that read a saturation (admitperf/pool.h). Worked out by hand: 5 waiting
 * requests or 80 % of the KV cache are 1, `engines` is 1, what is absent counts as 1. */
#ifndef ADP_TESTS_PLUGINS_MIXED_POOLS_H
#define ADP_TESTS_PLUGINS_MIXED_POOLS_H

#include "tests/plugins/stage.h"

struct mixed_pool {
    const char *claim;
    uint32_t n;          /* engines that have a name */
    double engine[2][2]; /* queue, kv */
    double pool[2];      /* queue, kv */
    double saturation;
    uint32_t reason;  /* of a refusal by a threshold of 1; 0: it admits */
    uint32_t binding; /* slot; ADP_NONE: none alone refuses */
};

static const struct mixed_pool mixed_pools[] = {
    { "an idle pool whose one named engine says nothing is idle",
      1,
      { { ABSENT, ABSENT } },
      { 0, 0 },
      0,
      0,
      ADP_NONE },
    { "a saturated pool whose named engine says nothing is saturated: 6/5",
      1,
      { { ABSENT, ABSENT } },
      { 6, 0.1 },
      1.2,
      ADP_R_QUEUE_DEPTH,
      0 },
    { "a named engine's cache, .4/.8, and the pool's queue, 1/5; not the pool's cache",
      1,
      { { ABSENT, 0.4 } },
      { 1, 0.99 },
      0.5,
      0,
      ADP_NONE },
    { "a named engine's cache and the pool's queue, 7/5",
      1,
      { { ABSENT, 0.4 } },
      { 7, 0.4 },
      1.4,
      ADP_R_QUEUE_DEPTH,
      0 },
    { "a named engine's queue, 1/5, and the pool's cache, 1/.8",
      1,
      { { 1, ABSENT } },
      { 50, 1.0 },
      1.25,
      ADP_R_KV_PRESSURE,
      1 },
    /* .4/.8 and .72/.8; each has half of the pool's queue: 8/10. (.8 + .9) / 2 */
    { "the pool's queue is that of the engines that are known",
      2,
      { { ABSENT, 0.4 }, { ABSENT, 0.72 } },
      { 8, 0.1 },
      0.85,
      0,
      ADP_NONE },
    /* 12/10 in both, above the caches */
    { "and saturates them together",
      2,
      { { ABSENT, 0.4 }, { ABSENT, 0.72 } },
      { 12, 0.1 },
      1.2,
      ADP_R_QUEUE_DEPTH,
      0 },
    /* 0 and 10/5 waiting, the pool's cache .6/.8: (.75 + 2) / 2 */
    { "the pool's cache counts alike for each",
      2,
      { { 0, ABSENT }, { 10, ABSENT } },
      { 0, 0.6 },
      1.375,
      ADP_R_QUEUE_DEPTH,
      0 },
    /* the first of .5 and 3/10; the second has no cache of its own, though some engine
     * has: 1. (.5 + 1) / 2 */
    { "an engine without what another one has is not filled in from the pool",
      2,
      { { ABSENT, 0.4 }, { ABSENT, ABSENT } },
      { 3, 0.4 },
      0.75,
      0,
      ADP_NONE },
    /* .5 and an absent queue, .6 and an absent cache */
    { "each has what the other has not: both are half unknown, whatever the pool says",
      2,
      { { ABSENT, 0.4 }, { 3, ABSENT } },
      { 3, 0.4 },
      1.0,
      ADP_R_SIGNAL_STALE,
      ADP_NONE },
    { "what neither the engine nor the pool has is absent",
      1,
      { { 2, ABSENT } },
      { 2, ABSENT },
      1.0,
      ADP_R_SIGNAL_STALE,
      ADP_NONE },
};

static inline void mixed_pool_set(struct stage *s, const struct mixed_pool *pool)
{
    stage_signal(s, "queue_depth", pool->pool[0]);
    stage_signal(s, "kv_pressure", pool->pool[1]);
    for (uint32_t r = 0; r < pool->n; r++) {
        stage_engine(s, r, "queue_depth", pool->engine[r][0]);
        stage_engine(s, r, "kv_pressure", pool->engine[r][1]);
    }
}

#endif
