/* SPDX-License-Identifier: MIT */
__attribute__((visibility("default"))) void admitperf_policy_v1(void);

void admitperf_policy_v1(void)
{
}
