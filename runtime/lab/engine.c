/* SPDX-License-Identifier: MIT */
/* The simulated engine: bounded slots, a FIFO queue, a KV cache that running requests
 * fill. */
#include "runtime/lab/engine.h"

#include <admitperf/policy.h>
#include <stdlib.h>

struct slot {
    uint32_t request;
    uint64_t end_tick; /* the first tick in which it is gone */
    uint64_t ttft_ms;
};

struct engine {
    const struct adp_traffic *traffic;
    const struct adp_engine_calls *calls;
    uint64_t tick;
    uint32_t next; /* arrival not yet decided */
    struct slot slots[ADP_ENGINE_SLOTS];
    uint32_t running;
    uint32_t *queue; /* requests admitted while no slot was free, oldest first */
    uint32_t head, tail;
};

static uint64_t now_ms(const struct engine *e)
{
    return e->tick * ADP_ENGINE_TICK_MS;
}

static int tell(struct engine *e, const struct slot *slot, uint32_t end,
                struct adp_error *err)
{
    struct adp_engine_outcome outcome = {
        .request = slot->request,
        .now_ms = now_ms(e),
        .end = end,
        .started = true,
        .ttft_ms = slot->ttft_ms,
        .ok = slot->ttft_ms <= ADP_ENGINE_SLO_MS,
    };
    return e->calls->outcome(e->calls->ctx, &outcome, err);
}

static int retire(struct engine *e, struct adp_error *err)
{
    uint32_t kept = 0;
    int failed = 0;
    for (uint32_t i = 0; i < e->running; i++) {
        if (e->slots[i].end_tick > e->tick || failed)
            e->slots[kept++] = e->slots[i];
        else
            failed = tell(e, &e->slots[i], ADP_DONE, err);
    }
    e->running = kept;
    return failed;
}

static void start(struct engine *e, uint32_t request)
{
    const struct adp_arrival *a = &e->traffic->arrivals[request];
    e->slots[e->running++] = (struct slot) {
        .request = request,
        .end_tick = e->tick + a->service_ticks,
        .ttft_ms = ADP_ENGINE_TTFT_MS + (e->tick - a->tick) * ADP_ENGINE_TICK_MS,
    };
}

static void move_up(struct engine *e)
{
    while (e->head < e->tail && e->running < ADP_ENGINE_SLOTS)
        start(e, e->queue[e->head++]);
}

static struct adp_engine_state published(const struct engine *e)
{
    double kv = (double)(e->running * ADP_ENGINE_REQUEST_TOKENS) / ADP_ENGINE_KV_TOKENS;
    return (struct adp_engine_state) {
        .running = e->running,
        .waiting = e->tail - e->head,
        .kv = kv < 1.0 ? kv : 1.0,
    };
}

static int accept_request(struct engine *e, uint32_t request, struct adp_error *err)
{
    const struct adp_arrival *a = &e->traffic->arrivals[request];
    if (!a->service_ticks)
        return adp_error_at(err, ADP_EINVAL, e->traffic->file, a->line, a->column,
                            "%s was admitted, but no service time was drawn for it: "
                            "this traffic was recorded under other decisions",
                            a->id);
    if (e->running < ADP_ENGINE_SLOTS)
        start(e, request);
    else
        e->queue[e->tail++] = request;
    return 0;
}

/* Decides on the arrivals of this tick: 0, ADP_ENGINE_STOP or a negative code. */
static int arrive(struct engine *e, struct adp_error *err)
{
    for (; e->next < e->traffic->n; e->next++) {
        if (e->traffic->arrivals[e->next].tick != e->tick)
            return 0;
        struct adp_engine_state state = published(e);
        int answer = e->calls->decide(e->calls->ctx, e->next, now_ms(e), &state, err);
        if (answer == ADP_ENGINE_ADMIT)
            answer = accept_request(e, e->next, err);
        if (answer != 0)
            return answer;
    }
    return 0;
}

/* The next tick in which anything can happen, so that quiet ones cost nothing; false when
 * there is none. The queue needs no look: it only moves when somebody leaves. */
static bool advance(struct engine *e)
{
    uint64_t next = UINT64_MAX;
    if (e->next < e->traffic->n)
        next = e->traffic->arrivals[e->next].tick;
    for (uint32_t i = 0; i < e->running; i++) {
        if (e->slots[i].end_tick < next)
            next = e->slots[i].end_tick;
    }
    e->tick = next;
    return next != UINT64_MAX;
}

static int cancel(struct engine *e, struct adp_error *err)
{
    for (uint32_t i = 0; i < e->running; i++) {
        int failed = tell(e, &e->slots[i], ADP_CANCELLED, err);
        if (failed)
            return failed;
    }
    for (; e->head < e->tail; e->head++) {
        struct adp_engine_outcome outcome = {
            .request = e->queue[e->head],
            .now_ms = now_ms(e),
            .end = ADP_CANCELLED,
        };
        int failed = e->calls->outcome(e->calls->ctx, &outcome, err);
        if (failed)
            return failed;
    }
    return 0;
}

int adp_engine_run(const struct adp_traffic *traffic,
                   const struct adp_engine_calls *calls, struct adp_error *err)
{
    struct engine e = { .traffic = traffic, .calls = calls };
    e.queue = malloc((traffic->n ? traffic->n : 1) * sizeof *e.queue);
    if (!e.queue)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    int result = 0;
    while (result == 0 && advance(&e)) {
        result = retire(&e, err);
        if (result == 0) {
            move_up(&e);
            result = arrive(&e, err);
        }
    }
    if (result == ADP_ENGINE_STOP)
        result = cancel(&e, err);
    free(e.queue);
    return result;
}
