/* SPDX-License-Identifier: MIT */
/* dual_gate: rejects when the KV cache is at or above `threshold` and, at the same time,
 * the prefix cache's hit rate is below `min_hit_rate`.
 *
 * A full cache that still answers prefixes is doing its work; one that is full and
 * misses is thrashing. The conjunction is CONCUR's (arXiv 2601.22705), which narrows an
 * agent window by it; this is the gate alone, on single requests, as AdmitPerf in Python
 * ships it. One rule of two gates (survey axis 4b).
 *
 * Either reading absent admits. */
#include <admitperf/policy.h>

enum { KV, HIT_RATE };
enum { THRESHOLD, MIN_HIT_RATE };

static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio" },
    [HIT_RATE] = { .name = "prefix_hit_rate", .unit = "ratio" },
};

static const adp_param params[] = {
    [THRESHOLD] = { .name = "threshold",
                    .unit = "ratio",
                    .doc = "first gate: KV cache use at or above this",
                    .lo = 0.0,
                    .hi = 1.0,
                    .kind = ADP_F64,
                    .flags = ADP_REQUIRED },
    [MIN_HIT_RATE] = { .name = "min_hit_rate",
                       .unit = "ratio",
                       .doc = "second gate: prefix hit rate below this",
                       .lo = 0.0,
                       .hi = 1.0,
                       .kind = ADP_F64,
                       .flags = ADP_REQUIRED },
};

static const adp_gate gates[] = {
    { .rule = 0, .signal = KV, .op = ADP_GE, .param = THRESHOLD },
    { .rule = 0, .signal = HIT_RATE, .op = ADP_LT, .param = MIN_HIT_RATE },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "throughput",
    .signal_quantity = "kv_pressure",
    .signal_structure = "dual-gate",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "in the spirit of CONCUR, arXiv 2601.22705; AdmitPerf (Python): dual_gate",
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, THRESHOLD) && adp_lt(v, HIT_RATE, MIN_HIT_RATE))
        adp_reject(w, ADP_R_KV_PRESSURE, KV); /* KV's reason; the hit rate only let it */
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "dual_gate",
    .version = "1.0",
    .doc = "rejects when KV cache use is high while the prefix hit rate is low",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
