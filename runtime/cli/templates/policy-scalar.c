/* SPDX-License-Identifier: MIT-0 */
/* @NAME@: rejects when the KV cache is nearly full. */
#include <admitperf/policy.h>

/* Places in the tables below, and so in the view. */
enum { KV };
enum { THRESHOLD };

static const adp_signal signals[] = {
    { "kv_pressure", "ratio", 0, 0 },
};

static const adp_param params[] = {
    { "threshold", "ratio", "rejects at or above", 0, 1, 0.90, ADP_F64, 0 },
};

/* When decide refuses, as data: reports judge from it whether it could have. Gates of one
 * rule must all hold, one rule is enough. */
static const adp_gate gates[] = {
    { 0, KV, ADP_GE, THRESHOLD },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
};

/* An absent signal holds no gate: what nobody measured refuses nobody. */
static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "@NAME@",
    .version = "0.1",
    .doc = "rejects when the KV cache is nearly full",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
