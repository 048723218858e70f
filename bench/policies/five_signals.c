/* SPDX-License-Identifier: MIT */
/* five_signals: reads five signals and refuses when any is at or above its threshold: about
 * the most that a policy without state does, so that what is measured is the runtime. */
#include <admitperf/policy.h>

enum { KV, QUEUE, RUNNING, GPU, HITS };
enum { SHARE, COUNT };

static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio" },
    [QUEUE] = { .name = "queue_depth", .unit = "requests" },
    [RUNNING] = { .name = "running", .unit = "requests" },
    [GPU] = { .name = "gpu_util", .unit = "ratio" },
    [HITS] = { .name = "prefix_hit_rate", .unit = "ratio" },
};

static const adp_param params[] = {
    [SHARE] = { .name = "share",
                .unit = "ratio",
                .doc = "refuses at or above this ratio",
                .lo = 0.0,
                .hi = 1.0,
                .kind = ADP_F64,
                .flags = ADP_REQUIRED },
    [COUNT] = { .name = "count",
                .unit = "requests",
                .doc = "refuses at or above this count",
                .lo = 0.0,
                .hi = 1e9,
                .kind = ADP_F64,
                .flags = ADP_REQUIRED },
};

static const adp_gate gates[] = {
    { .rule = 0, .signal = KV, .op = ADP_GE, .param = SHARE },
    { .rule = 1, .signal = QUEUE, .op = ADP_GE, .param = COUNT },
    { .rule = 2, .signal = RUNNING, .op = ADP_GE, .param = COUNT },
    { .rule = 3, .signal = GPU, .op = ADP_GE, .param = SHARE },
    { .rule = 4, .signal = HITS, .op = ADP_GE, .param = SHARE },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "throughput",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "AdmitPerf: bench",
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, SHARE))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else if (adp_ge(v, QUEUE, COUNT))
        adp_reject(w, ADP_R_QUEUE_DEPTH, QUEUE);
    else if (adp_ge(v, RUNNING, COUNT))
        adp_reject(w, ADP_R_QUEUE_DEPTH, RUNNING);
    else if (adp_ge(v, GPU, SHARE) || adp_ge(v, HITS, SHARE))
        adp_reject(w, ADP_R_CAPACITY_RESERVED, GPU);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "five_signals",
    .version = "1.0",
    .doc = "refuses when any of five signals is at or above a threshold",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
