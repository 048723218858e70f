/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

extern __attribute__((visibility("default"))) const adp_policy admitperf_policy_v0,
    admitperf_policy_v2;
const adp_policy admitperf_policy_v0 = { SOUND };
const adp_policy admitperf_policy_v2 = { SOUND };
