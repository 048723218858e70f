/* SPDX-License-Identifier: MIT */
/* saturation: rejects sheddable requests (priority below 0) while the pool is saturated.
 *
 * What llm-d and the Gateway API inference extension do in production (llm-d-router,
 * pkg/epp/framework/plugins/flowcontrol/saturationdetector/utilization/{detector,config}.go
 * and pkg/epp/requestcontrol/admission.go): per engine the scarcer of queue and KV cache,
 * their mean over the pool (admitperf/pool.h), and at 1 or above no request of a priority
 * below 0. A request of priority 0 and above, or of none, is never rejected.
 *
 * Beyond the source: a second threshold to open again, with a deadline (its own default,
 * 1, is the source's single threshold); a probe, because a pool that serves only sheddable
 * requests freezes its own gauges (vLLM #29928); absence is told from overload.
 *
 * CONCURRENT: what it remembers are two latches of relaxed atomics.
 * docs/policies/saturation.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/pool.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum { QUEUE, KV };
enum {
    QUEUE_DEPTH_THRESHOLD,
    KV_THRESHOLD,
    REOPEN_BELOW,
    HOLD_MS,
    ABSENT_SATURATED,
    ENGINES,
    PROBE_MS
};
enum { LAYOUT = 1 };

static const adp_signal signals[] = {
    [QUEUE] = { .name = "queue_depth", .unit = "requests", .flags = ADP_REPLICAS },
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};

static const adp_param params[] = {
    [QUEUE_DEPTH_THRESHOLD] = { .name = "queue_depth_threshold",
                                .unit = "requests",
                                .doc = "requests waiting in an engine at its capacity",
                                .lo = 1.0,
                                .hi = 1e9,
                                .dflt = 5.0,
                                .kind = ADP_I64 },
    [KV_THRESHOLD] = { .name = "kv_threshold",
                       .unit = "ratio",
                       .doc = "share of the KV cache in use in an engine at its capacity",
                       .lo = 0.001,
                       .hi = 1.0,
                       .dflt = 0.8,
                       .kind = ADP_F64 },
    [REOPEN_BELOW] = { .name = "reopen_below",
                       .unit = "ratio",
                       .doc = "admits again below this saturation; 1: no hysteresis",
                       .lo = 0.0,
                       .hi = 1.0,
                       .dflt = 1.0,
                       .kind = ADP_F64 },
    [HOLD_MS] = { .name = "hold_ms",
                  .unit = "ms",
                  .doc = "longest time closed below saturation 1; 0: no limit",
                  .lo = 0.0,
                  .hi = 3600000.0,
                  .dflt = 5000.0,
                  .kind = ADP_I64 },
    [ABSENT_SATURATED] = { .name = "absent_saturated",
                           .unit = "",
                           .doc = "an absent reading counts as saturated; else left out",
                           .lo = 0.0,
                           .hi = 1.0,
                           .dflt = 1.0,
                           .kind = ADP_BOOL },
    [ENGINES] = { .name = "engines",
                  .unit = "",
                  .doc = "engines behind the readings, where none is given per engine",
                  .lo = 1.0,
                  .hi = 1e6,
                  .dflt = 1.0,
                  .kind = ADP_I64 },
    [PROBE_MS] = { .name = "probe_ms",
                   .unit = "ms",
                   .doc = "admits one request this often while nothing moves; 0: never",
                   .lo = 0.0,
                   .hi = 3600000.0,
                   .dflt = 1000.0,
                   .kind = ADP_I64 },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "stability",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "priority class",
    .portability = "A",
    .source = "llm-d-router: saturationdetector/utilization/detector.go, "
              "requestcontrol/admission.go",
    .margin_unit = "ratio",
};

struct saturation {
    struct adp_hysteresis gate;
    struct adp_probe probe;
};

static void *create(const adp_setup *setup)
{
    struct saturation *s = calloc(1, sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    adp_saved_read(setup->saved, setup->saved_len, LAYOUT, s, sizeof *s);
    return s;
}

static uint64_t nanoseconds(double ms)
{
    return (uint64_t)ms * 1000000u;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct saturation *s = self;
    const double *param = v->param;
    const struct adp_pool_rule rule = {
        .n_signals = ADP_COUNT(signals),
        .queue = QUEUE,
        .kv = KV,
        .queue_threshold = param[QUEUE_DEPTH_THRESHOLD],
        .kv_threshold = param[KV_THRESHOLD],
        .engines = param[ENGINES],
        .absent_saturated = param[ABSENT_SATURATED] != 0.0,
    };
    const struct adp_hysteresis_rule bounds = {
        .close_at = 1.0,
        .open_below = param[REOPEN_BELOW],
        .hold_ns = nanoseconds(param[HOLD_MS]),
    };
    struct adp_pool pool = adp_pool_read(v, &rule);
    bool sheddable = v->request->present & ADP_PRIORITY && v->request->priority < 0;

    if (!adp_hysteresis_closed(&s->gate, &bounds, pool.present, pool.saturation,
                               v->now_ns)) {
        adp_probe_open(&s->probe);
        if (sheddable && pool.present)
            adp_margin(w, pool.saturation - 1.0);
        adp_admit(w);
    } else if (!sheddable) {
        adp_probe_admitted(&s->probe, v->now_ns);
        adp_admit(w);
    } else if (adp_probe_due(&s->probe, pool.saturation, v->now_ns,
                             nanoseconds(param[PROBE_MS]))) {
        adp_admit(w);
    } else {
        double threshold = pool.saturation >= 1.0 ? 1.0 : param[REOPEN_BELOW];
        bool known = pool.known >= threshold;
        adp_margin(w, pool.saturation - threshold);
        adp_reject(w, adp_pool_reason(&pool, &rule, known),
                   known ? pool.binding : ADP_NONE);
    }
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    return adp_saved_write(to, cap, LAYOUT, self, sizeof(struct saturation));
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "saturation",
    .version = "1.0",
    .doc = "rejects sheddable requests while queues or KV caches of the pool are full",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct saturation)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .save = save,
};
