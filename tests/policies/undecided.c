/* SPDX-License-Identifier: MIT */
/* For tests of the host: returns without an action, which is a fault and never an
 * admit. */
#include <admitperf/policy.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    (void)w;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,         .name = "undecided", .version = "1.0", .threading = ADP_CONCURRENT,
    .decide = decide,
};
