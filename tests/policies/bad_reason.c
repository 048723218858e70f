/* SPDX-License-Identifier: MIT */
/* For tests of the host: rejects with a reason that the vocabulary does not have, which
 * is a fault. `reason` chooses the number, 0 (a refusal without a reason) included. */
#include <admitperf/policy.h>

enum { REASON };

static const adp_param params[] = {
    [REASON] = { .name = "reason",
                 .unit = "",
                 .doc = "the number it rejects with",
                 .lo = 0.0,
                 .hi = 4294967295.0,
                 .dflt = 999.0,
                 .kind = ADP_I64 },
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    adp_reject(w, (uint32_t)v->param[REASON], ADP_NONE);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,         .n_params = ADP_COUNT(params),
    .params = params, .name = "bad_reason",
    .version = "1.0", .threading = ADP_CONCURRENT,
    .decide = decide,
};
