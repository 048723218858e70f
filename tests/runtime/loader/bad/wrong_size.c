/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

const adp_policy admitperf_policy_v1 = { SOUND, .size = 96 };
