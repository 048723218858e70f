/* SPDX-License-Identifier: MIT */
/* Learns from a TTFT that nobody has measured. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    double *slowest = calloc(1, sizeof *slowest);
    if (!slowest)
        return adp_cannot(setup, "out of memory");
    return slowest;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const double *slowest = self;
    in_order(v, w);
    w->ticket = 1;
    if (w->action == ADP_REJECT && *slowest > 1e6)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 100.0);
}

static void outcome(void *self, const adp_outcome *o)
{
    double *slowest = self;
    if (o->kind == ADP_DONE && o->ttft_ms > *slowest)
        *slowest = o->ttft_ms;
}

GALLERY = { GALLERY_HEAD,    GALLERY_SERIAL,   .create = create,
            .destroy = free, .decide = decide, .outcome = outcome };
