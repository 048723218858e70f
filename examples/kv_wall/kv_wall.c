/* SPDX-License-Identifier: MIT */
/* kv_wall: rejects when the KV cache is nearly full, defers when the queue is long. */
#include <admitperf/policy.h>

enum { KV, QUEUE };
enum { THRESHOLD, MAX_WAITING };

static const adp_signal signals[] = { { "kv_pressure", "ratio", 0, 0 },
                                      { "queue_depth", "requests", 0, 0 } };
static const adp_param params[] = {
    { "threshold", "ratio", "rejects at or above", 0, 1, 0.90, ADP_F64, 0 },
    { "max_waiting", "requests", "defers above", 0, 1e6, 32, ADP_I64, 0 },
};
static const adp_gate gates[] = { { 0, KV, ADP_GE, THRESHOLD },
                                  { 1, QUEUE, ADP_GT, MAX_WAITING } };
static const adp_card card = { .unit = "request",
                               .signal_quantity = "kv_pressure",
                               .signal_structure = "scalar" };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else if (adp_gt(v, QUEUE, MAX_WAITING))
        adp_defer(w, ADP_R_QUEUE_DEPTH, QUEUE, 200);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "kv_wall",
    .doc = "rejects when the KV cache is nearly full, defers when the queue is long",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
