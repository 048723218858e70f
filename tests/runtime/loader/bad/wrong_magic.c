/* SPDX-License-Identifier: MIT */
#include "tests/runtime/loader/bad/bad.h"

const adp_policy admitperf_policy_v0 = { SOUND, .magic = 0x32504441u };
