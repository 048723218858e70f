/* SPDX-License-Identifier: MIT */
/* A policy that reads the pool replica by replica: it defers when the emptiest one that says
 * how full its cache is stands at `threshold` or above. retry_after_ms is 1000 for each
 * replica and 1 for each that says so, so a line shows what was seen. Without any such
 * reading it admits. */
#include <admitperf/policy.h>

#include <stddef.h>

enum { QUEUE, KV };

static const adp_signal signals[] = {
    [QUEUE] = { .name = "queue_depth", .unit = "requests" },
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};

static const adp_param params[] = { { .name = "threshold",
                                      .unit = "ratio",
                                      .lo = 0,
                                      .hi = 1,
                                      .dflt = 0.5,
                                      .kind = ADP_F64 } };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    uint32_t told = 0;
    double emptiest = 1;
    (void)self;
    for (uint32_t r = 0; r < v->n_replicas; r++) {
        double kv = v->replica[(size_t)r * ADP_COUNT(signals) + KV];
        if (!(v->replica_present[r] >> KV & 1u))
            continue;
        told++;
        emptiest = kv < emptiest ? kv : emptiest;
    }
    adp_admit(w);
    if (told && emptiest >= v->param[0])
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 1000.0 * v->n_replicas + told);
    if (told)
        adp_margin(w, emptiest - v->param[0]);
}

static const adp_card card = { .margin_unit = "ratio" };

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .name = "emptiest",
    .version = "1.0",
    .threading = ADP_CONCURRENT,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .card = &card,
    .decide = decide,
};
