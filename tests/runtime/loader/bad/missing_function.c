/* SPDX-License-Identifier: MIT */
/* Calls what nobody defines: -z defs would have said so when it was linked. */
#include "tests/runtime/loader/bad/bad.h"

double nobody_defines_this(double x);

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (nobody_defines_this(v->draw) > 0.0)
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = { SOUND, .decide = decide };
