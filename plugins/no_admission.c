/* SPDX-License-Identifier: MIT */
/* no_admission: admits every request.
 *
 * The baseline that other policies are compared with: what the deployment does when
 * nobody refuses. It reads no signal, takes no parameter and declares no gate, so a
 * report on it says "baseline" and never "inert". */
#include <admitperf/policy.h>

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "AdmitPerf (Python): no_admission",
    .flags = ADP_BASELINE,
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .name = "no_admission",
    .version = "1.0",
    .doc = "admits every request: the baseline that others are compared with",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
