/* SPDX-License-Identifier: MIT */
/* For tests of the loader: a policy as a later minor of the ABI would compile it. Head
 * and rows have a field that this host does not know; it runs here all the same. */
#include <admitperf/policy.h>

struct later_signal {
    adp_signal known;
    uint64_t newer;
};

struct later_policy {
    adp_policy known;
    uint64_t newer[256]; /* more than the host keeps of a policy in all */
};

static const struct later_signal signals[] = {
    { { .name = "kv_pressure", .unit = "ratio" }, UINT64_MAX },
    { { .name = "queue_depth", .unit = "requests" }, UINT64_MAX },
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

/* The symbol's name without its declaration in policy.h, which has today's type. */
extern const struct later_policy later __asm__("admitperf_policy_v1")
    __attribute__((visibility("default")));
const struct later_policy later = {
    .known = {
        .magic = ADP_MAGIC,
        .size = sizeof(struct later_policy),
        .abi_minor = 1,
        .min_host_minor = 0,
        .signal_size = sizeof(struct later_signal),
        .param_size = sizeof(adp_param),
        .gate_size = sizeof(adp_gate),
        .card_size = sizeof(adp_card),
        .n_signals = ADP_COUNT(signals),
        .signals = &signals[0].known,
        .name = "later_minor",
        .threading = ADP_CONCURRENT,
        .decide = decide,
    },
    .newer = { 1 },
};
