/* SPDX-License-Identifier: MIT */
/* The simulated engine: bounded slots, a FIFO queue, a KV cache that running requests
 * fill. Discrete time, no clock, no entropy, nothing of the runtime: who asks it to admit
 * is a callback.
 *
 *     in each tick:   finished leave  ->  queue moves up  ->  arrivals, one by one
 *     arrival:        decide on what is published now
 *                       refused                    gone
 *                       admitted, a slot is free   starts in this tick
 *                       admitted, none is free     waits at the end of the queue
 *
 *  1. Equal traffic and equal answers give equal runs.
 *  2. TTFT is 180 ms and 50 ms more for each tick waited.
 *  3. A run ends when the last arrival was decided and the engine is empty: every
 *     admitted request gets exactly one outcome. */
#ifndef ADP_RUNTIME_LAB_ENGINE_H
#define ADP_RUNTIME_LAB_ENGINE_H

#include "core/error.h"
#include "runtime/lab/traffic.h"

#include <stdbool.h>
#include <stdint.h>

#define ADP_ENGINE_SLOTS          48u
#define ADP_ENGINE_KV_TOKENS      384000u
#define ADP_ENGINE_REQUEST_TOKENS 8704u /* resident while it runs */
#define ADP_ENGINE_TICK_MS        50u
#define ADP_ENGINE_TTFT_MS        180u /* of a request that never waits */
#define ADP_ENGINE_SLO_MS         1500u

/* What the engine publishes before each decision. */
struct adp_engine_state {
    uint32_t running, waiting; /* requests */
    double kv;                 /* ratio: min(1, resident tokens / KV tokens) */
};

/* What became of an admitted request. */
struct adp_engine_outcome {
    uint32_t request; /* its place in the traffic */
    uint64_t now_ms;  /* simulated */
    uint32_t end;     /* enum adp_end: DONE, or CANCELLED when the run was stopped */
    bool started;     /* else it never left the queue: no TTFT */
    uint64_t ttft_ms;
    bool ok; /* started within ADP_ENGINE_SLO_MS */
};

enum adp_engine_answer {
    ADP_ENGINE_REFUSE = 0,
    ADP_ENGINE_ADMIT = 1,
    ADP_ENGINE_STOP = 2 /* no decision was made; end the run here */
};

struct adp_engine_calls {
    void *ctx;
    /* Decides on one arrival: enum adp_engine_answer, or a negative code with `err`
     * filled, which ends the run. */
    int (*decide)(void *ctx, uint32_t request, uint64_t now_ms,
                  const struct adp_engine_state *state, struct adp_error *err);
    /* Takes the one outcome of an admitted request: 0, or a negative code as above. */
    int (*outcome)(void *ctx, const struct adp_engine_outcome *outcome,
                   struct adp_error *err);
};

/* Runs the traffic to its end, or to the first ADP_ENGINE_STOP: what is in the engine is
 * then cancelled, and 0 returned. ADP_EINVAL, with the traffic's file and line: a request
 * was admitted for which no service time was drawn. ADP_ENOMEM. */
int adp_engine_run(const struct adp_traffic *traffic,
                   const struct adp_engine_calls *calls, struct adp_error *err);

#endif
