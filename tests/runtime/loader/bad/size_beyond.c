/* SPDX-License-Identifier: MIT */
/* Claims more bytes than its object has. */
#include "tests/runtime/loader/bad/bad.h"

const adp_policy admitperf_policy_v1 = { SOUND, .size = 400 };
