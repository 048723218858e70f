/* SPDX-License-Identifier: MIT */
/* For tests of reload: has a state to hand over, and does not return from decide as long
 * as the file exists that the request's tenant names. */
#include <admitperf/policy.h>

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    (void)setup;
    return calloc(1, 8);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    while (v->request->tenant && access(v->request->tenant, F_OK) == 0)
        sched_yield();
    adp_admit(w);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    (void)self;
    (void)cap;
    *(char *)to = 1;
    return 1;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,         .name = "dawdler", .threading = ADP_CONCURRENT,
    .max_saved = 8,   .create = create,  .destroy = free,
    .decide = decide, .save = save,
};
