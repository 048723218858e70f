/* SPDX-License-Identifier: MIT */
/* The object is there and holds nothing until some code fills it. */
__attribute__((visibility("default"))) char admitperf_policy_v1[152];
