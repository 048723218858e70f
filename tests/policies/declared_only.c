/* SPDX-License-Identifier: MIT */
/* For tests: rejects on a signal that no dictionary knows, only the operator's YAML:
 * gpu_temp in celsius, at or above `threshold`. */
#include <admitperf/policy.h>

enum { TEMP };
enum { THRESHOLD };

static const adp_signal signals[] = {
    [TEMP] = { .name = "gpu_temp", .unit = "celsius" },
};

static const adp_param params[] = {
    [THRESHOLD] = { .name = "threshold",
                    .unit = "celsius",
                    .doc = "rejects at or above this temperature",
                    .lo = 0.0,
                    .hi = 120.0,
                    .kind = ADP_F64,
                    .flags = ADP_REQUIRED },
};

static const adp_gate gates[] = {
    { .rule = 0, .signal = TEMP, .op = ADP_GE, .param = THRESHOLD },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, TEMP, THRESHOLD))
        adp_reject(w, ADP_R_CAPACITY_RESERVED, TEMP);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "declared_only",
    .version = "1.0",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
