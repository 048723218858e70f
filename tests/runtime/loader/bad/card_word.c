/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

static const adp_card card = { .slo_awareness = "troughput" };

const adp_policy admitperf_policy_v1 = { SOUND, .card = &card };
