/* SPDX-License-Identifier: MIT */
/* A policy of v1.0 that takes a config, reads values per replica and refuses by chance: the
 * flags of the header, and a probability. Compiled against the header beside it, for ever
 * as it is. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

enum { KV };

static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};
static const adp_card card = { .unit = "request", .metadata_assumed = "none" };

struct state {
    double p;
};

/* Knows {"half":true}, and to do nothing. */
static void *create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    if (setup->config && strcmp(setup->config, "{\"half\":true}") == 0) {
        s->p = 0.5;
    } else if (setup->config && strcmp(setup->config, "{}") != 0) {
        free(s);
        return adp_cannot(setup, "the config is not known");
    }
    return s;
}

/* Whether some replica, or the pool, is full. */
static int is_full(const adp_view *v)
{
    for (uint32_t r = 0; r < v->n_replicas; r++)
        if (v->replica_present[r] >> KV & 1u && v->replica[r] >= 1.0)
            return 1;
    return adp_has(v, KV) && v->signal[KV] >= 1.0;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const struct state *s = self;
    w->p = is_full(v) ? s->p : 0.0;
    w->set |= ADP_SET_P;
    adp_margin_above(w, w->p - v->draw);
    if (v->draw < w->p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .name = "frozen_config",
    .version = "1.0",
    .doc = "rejects half of the requests while a replica is full, if told so",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .flags = ADP_TAKES_CONFIG,
    .create = create,
    .destroy = free,
    .decide = decide,
};
