/* SPDX-License-Identifier: MIT */
/* A policy under a name that is nearly the right one. */
#include "tests/runtime/loader/bad/bad.h"

extern __attribute__((visibility("default"))) const adp_policy admitperf_policy;
const adp_policy admitperf_policy = { SOUND };
