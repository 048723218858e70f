/* SPDX-License-Identifier: MIT */
/* probabilistic: rejects a share of the sheddable requests (priority below 0) that grows
 * steeply with the pool's saturation.
 *
 * llm-d's probabilistic admitter (llm-d-router, pkg/epp/framework/plugins/requestcontrol/
 * admitter/probabilisticadmitter/plugin.go, Admit; PR 959):
 *
 *     p = min(k · saturation ^ power, 1)        rejects when draw < p
 *
 * with the saturation of admitperf/pool.h. With its defaults everything sheddable is
 * rejected from saturation (1/300)^(1/5) = 0.3196 on: a KV cache at 25.6 %, or 1.6 waiting
 * requests an engine.
 *
 * Not copied: a random number for each try (a client that retried often enough came
 * through; here a retried id draws the same), and an engine never scraped that counts as
 * idle (here absence counts as saturated, and is named). Added: a probe while p is 1 and
 * nothing moves (vLLM #29928).
 *
 * CONCURRENT: the probe is a latch of relaxed atomics. docs/policies/probabilistic.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/pool.h>
#include <admitperf/state.h>

#include <math.h>
#include <stdlib.h>

enum { QUEUE, KV };
enum {
    QUEUE_DEPTH_THRESHOLD,
    KV_THRESHOLD,
    POWER,
    K,
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
    [POWER] = { .name = "power",
                .unit = "",
                .doc = "how steeply the rejected share grows",
                .lo = 0.001,
                .hi = 100.0,
                .dflt = 5.0,
                .kind = ADP_F64 },
    [K] = { .name = "k",
            .unit = "",
            .doc = "the rejected share at saturation 1, before it is cut at 1",
            .lo = 1e-6,
            .hi = 1e9,
            .dflt = 300.0,
            .kind = ADP_F64 },
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
    .source = "llm-d-router: requestcontrol/admitter/probabilisticadmitter/plugin.go",
    .margin_unit = "ratio",
};

struct probabilistic {
    struct adp_probe probe;
};

static void *create(const adp_setup *setup)
{
    struct probabilistic *p = calloc(1, sizeof *p);
    if (!p)
        return adp_cannot(setup, "out of memory");
    adp_saved_read(setup->saved, setup->saved_len, LAYOUT, p, sizeof *p);
    return p;
}

static double probability(double saturation, const double *param)
{
    double p = param[K] * pow(saturation, param[POWER]);
    return p < 1.0 ? p : 1.0;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct probabilistic *s = self;
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
    if (!(v->request->present & ADP_PRIORITY) || v->request->priority >= 0) {
        adp_probe_admitted(&s->probe, v->now_ns);
        adp_admit(w);
        return;
    }
    struct adp_pool pool = adp_pool_read(v, &rule);
    if (!pool.present) {
        adp_probe_open(&s->probe);
        adp_admit(w);
        return;
    }
    double p = probability(pool.saturation, param);
    w->p = p;
    w->set |= ADP_SET_P;
    if (!(v->draw < p)) {
        adp_probe_open(&s->probe);
        adp_margin_above(w, p - v->draw);
        adp_admit(w);
    } else if (p >= 1.0 && adp_probe_due(&s->probe, pool.saturation, v->now_ns,
                                         (uint64_t)param[PROBE_MS] * 1000000u)) {
        adp_admit(w);
    } else {
        bool known = pool.known >= 0.0 && v->draw < probability(pool.known, param);
        adp_margin_above(w, p - v->draw);
        adp_reject(w, adp_pool_reason(&pool, &rule, known),
                   known ? pool.binding : ADP_NONE);
    }
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    return adp_saved_write(to, cap, LAYOUT, self, sizeof(struct probabilistic));
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "probabilistic",
    .version = "1.0",
    .doc = "rejects a share of sheddable requests that grows with the pool's saturation",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct probabilistic)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .save = save,
};
