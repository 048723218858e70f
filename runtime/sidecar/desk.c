/* SPDX-License-Identifier: MIT */
/* A desk (desk.h). */
#include "runtime/sidecar/desk.h"

#include "core/error.h"
#include "runtime/sidecar/board.h"

#include <stdlib.h>
#include <string.h>

const uint64_t adp_desk_bound_ns[ADP_DESK_BOUNDS] = {
    500,   1000,   2000,    5000,     10000,     20000,
    50000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

const char *adp_outcome_fate_word(enum adp_outcome_fate fate)
{
    static const char *const words[ADP_FATES] = {
        [ADP_FATE_SETTLED] = "settled", [ADP_FATE_UNKNOWN] = "unknown",
        [ADP_FATE_REFUSED] = "refused", [ADP_FATE_BYPASS] = "bypass",
        [ADP_FATE_BAD] = "bad",
    };
    return words[fate];
}

int adp_desk_init(struct adp_desk *desk, adp_runtime *rt,
                  const struct adp_serve_setting *serve, size_t scratch, adp_error *err)
{
    memset(desk, 0, sizeof *desk);
    desk->serve = serve;
    adp_line_init(&desk->out);
    desk->scratch = malloc(scratch);
    desk->scratch_cap = scratch;
    if (!desk->scratch)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    return adp_lane_open(&desk->lane, rt, err);
}

void adp_desk_finish(struct adp_desk *desk)
{
    adp_lane_close(desk->lane);
    adp_line_finish(&desk->out);
    free(desk->scratch);
    desk->lane = NULL;
    desk->scratch = NULL;
}

void adp_desk_count(_Atomic uint64_t *count, uint64_t more)
{
    /* One thread writes. */
    uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + more, memory_order_relaxed);
}

void adp_desk_decide(struct adp_desk *desk, const adp_facts *facts,
                     const adp_metric *metrics, uint32_t n, adp_decision *ret)
{
    uint64_t start = adp_board_now_ns();
    if (metrics)
        adp_lane_decide_with(desk->lane, metrics, n, facts, ret);
    else
        adp_lane_decide(desk->lane, facts, ret);
    uint64_t took = adp_board_now_ns() - start;
    uint32_t bucket = 0;
    while (bucket < ADP_DESK_BOUNDS && took > adp_desk_bound_ns[bucket])
        bucket++;
    adp_desk_count(&desk->counts.decided[bucket], 1);
    adp_desk_count(&desk->counts.decide_ns, took);
}

const char *adp_desk_text(struct adp_desk *desk, const char *text, size_t len)
{
    if (len >= desk->scratch_cap - desk->scratch_used)
        return NULL;
    char *to = desk->scratch + desk->scratch_used;
    if (len)
        memcpy(to, text, len);
    to[len] = '\0';
    desk->scratch_used += len + 1;
    return to;
}

void adp_desk_clear(struct adp_desk *desk)
{
    desk->scratch_used = 0;
}
