/* SPDX-License-Identifier: MIT */
/* Traffic files: whatever the bytes, an error with a place or a traffic that keeps its
 * invariants and that the engine runs to its end. */
#include "runtime/lab/engine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int decide(void *ctx, uint32_t request, uint64_t now_ms,
                  const struct adp_engine_state *state, struct adp_error *err)
{
    const struct adp_traffic *traffic = ctx;
    (void)err;
    must(now_ms == (uint64_t)traffic->arrivals[request].tick * 50);
    must(state->running <= 48 && (!state->waiting || state->running == 48));
    return traffic->arrivals[request].service_ticks ? ADP_ENGINE_ADMIT
                                                    : ADP_ENGINE_REFUSE;
}

static int outcome(void *ctx, const struct adp_engine_outcome *o, struct adp_error *err)
{
    (void)ctx;
    (void)err;
    must(o->started && o->ttft_ms >= 180);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    struct adp_traffic traffic = { 0 };
    struct adp_error err = { 0 };
    int failed =
        adp_traffic_read_text(&traffic, (const char *)input, len, "fuzz.csv", &err);
    if (failed) {
        must(err.code == failed && !traffic.arrivals);
        return 0;
    }
    must(traffic.n > 0);
    for (uint32_t i = 0; i < traffic.n; i++) {
        const struct adp_arrival *a = &traffic.arrivals[i];
        size_t n = strlen(a->id);
        must(n >= 1 && n <= ADP_TRAFFIC_MAX_ID);
        must(a->tick >= 1 && a->tick <= ADP_TRAFFIC_MAX_TICK);
        must(a->service_ticks <= ADP_TRAFFIC_MAX_SERVICE);
        must(!i || a[-1].tick <= a->tick);
    }
    struct adp_engine_calls calls = { &traffic, decide, outcome };
    must(adp_engine_run(&traffic, &calls, &err) == 0);
    adp_traffic_finish(&traffic);
    return 0;
}
