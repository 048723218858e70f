/* SPDX-License-Identifier: MIT */
__attribute__((visibility("default"))) void admitperf_policy_v0(void);

void admitperf_policy_v0(void)
{
}
