/* SPDX-License-Identifier: MIT */
/* For tests of the host: takes a structured `config:`, and knows one: { a: 1 }. Rejects
 * everything (tenant_quota) when it was given, admits everything without. */
#include <admitperf/policy.h>

#include <stdlib.h>
#include <string.h>

static void *create(const adp_setup *setup)
{
    if (setup->config && strcmp(setup->config, "{\"a\":1}") != 0)
        return adp_cannot(setup, "it knows no config but {\"a\":1}");
    int *given = calloc(1, sizeof *given);
    if (!given)
        return adp_cannot(setup, "out of memory");
    *given = setup->config != NULL;
    return given;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const int *given = self;
    (void)v;
    if (*given)
        adp_reject(w, ADP_R_TENANT_QUOTA, ADP_NONE);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .name = "takes_config",
    .version = "1.0",
    .threading = ADP_SERIAL,
    .flags = ADP_TAKES_CONFIG,
    .create = create,
    .destroy = free,
    .decide = decide,
};
