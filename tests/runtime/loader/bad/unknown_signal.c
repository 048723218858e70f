/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

static const adp_signal signals[] = { { .name = "kv_presure", .unit = "ratio" } };

const adp_policy admitperf_policy_v1 = { SOUND, .n_signals = 1, .signals = signals };
