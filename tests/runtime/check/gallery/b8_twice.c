/* SPDX-License-Identifier: MIT */
/* Takes a request that did not run back twice: as over, and as one that never was. */
#include "limits.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    uint64_t *running = self;
    (void)v;
    adp_margin(w, (double)*running - LIMIT);
    if (*running >= LIMIT) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        adp_admit(w);
        ++*running;
        w->ticket = 1;
    }
}

static void give_back(uint64_t *running)
{
    if (*running)
        --*running;
}

static void outcome(void *self, const adp_outcome *o)
{
    give_back(self);
    if (o->kind == ADP_NOT_RUN)
        give_back(self);
}

GALLERY = { GALLERY_HEAD,    .card = &limit_card, .create = limit_create,
            .destroy = free, .decide = decide,    .outcome = outcome };
