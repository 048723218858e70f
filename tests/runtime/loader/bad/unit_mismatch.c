/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

static const adp_signal signals[] = {
    { .name = "queue_depth", .unit = "requests" },
    { .name = "kv_pressure", .unit = "percent" },
};

const adp_policy admitperf_policy_v1 = { SOUND, .n_signals = 2, .signals = signals };
