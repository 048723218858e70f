/* SPDX-License-Identifier: MIT */
/* kv_threshold: rejects when the KV cache is at or above `threshold`.
 *
 * The survey's scalar heuristic (axis 4a), as AdmitPerf in Python ships it. Whether a
 * threshold can be reached at all depends on model, memory and batch limits: on one
 * A100-40 with 64 running requests of 2,168 tokens KV use ends near 0.35, and 0.90 is
 * never met. The gate below is what a report judges that from.
 *
 * An absent reading admits. */
#include <admitperf/policy.h>

enum { KV };
enum { THRESHOLD };

static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio" },
};

static const adp_param params[] = {
    [THRESHOLD] = { .name = "threshold",
                    .unit = "ratio",
                    .doc = "rejects at or above this share of the KV cache in use",
                    .lo = 0.0,
                    .hi = 1.0,
                    .kind = ADP_F64,
                    .flags = ADP_REQUIRED },
};

static const adp_gate gates[] = {
    { .rule = 0, .signal = KV, .op = ADP_GE, .param = THRESHOLD },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "throughput",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "AdmitPerf (Python): kv_threshold",
};

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
    .name = "kv_threshold",
    .version = "1.0",
    .doc = "rejects when KV cache use is at or above a threshold",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
