/* SPDX-License-Identifier: MIT */
/* A policy of v1.0 without an instance: signals, a parameter of each kind, gates of two
 * rules, facts. Compiled against the header beside it, for ever as it is. */
#include "policy.h"

enum { KV, QUEUE };
enum { KV_LIMIT, MAX_WAITING, SPARE_URGENT };

static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio" },
    [QUEUE] = { .name = "queue_depth", .unit = "requests" },
};
static const adp_param params[] = {
    [KV_LIMIT] = { "kv_limit", "ratio", "defers at this and above", 0, 1, 0.9, ADP_F64,
                   0 },
    [MAX_WAITING] = { "max_waiting", "requests", NULL, 0, 1000, 0, ADP_I64,
                      ADP_REQUIRED },
    [SPARE_URGENT] = { "spare_urgent", "", NULL, 0, 1, 1, ADP_BOOL, 0 },
};
static const adp_gate gates[] = {
    { .rule = 0, .signal = KV, .op = ADP_GE, .param = KV_LIMIT },
    { .rule = 1, .signal = QUEUE, .op = ADP_GT, .param = MAX_WAITING },
};
static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "throughput",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "priority class",
    .portability = "A",
    .source = "tests/abi",
};

static int is_urgent(const adp_request *q)
{
    return q->present & ADP_PRIORITY && q->priority > 0;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (v->param[SPARE_URGENT] > 0.0 && is_urgent(v->request))
        adp_admit(w);
    else if (adp_ge(v, KV, KV_LIMIT))
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 250.0);
    else if (adp_gt(v, QUEUE, MAX_WAITING))
        adp_reject(w, ADP_R_QUEUE_DEPTH, QUEUE);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "frozen_stateless",
    .version = "1.0",
    .doc = "defers at a KV limit, rejects behind a queue",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
