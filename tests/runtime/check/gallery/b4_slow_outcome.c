/* SPDX-License-Identifier: MIT */
/* Learns from a TTFT that nobody has measured, if it is one that could be. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    double *last = calloc(1, sizeof *last);
    if (!last)
        return adp_cannot(setup, "out of memory");
    return last;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const double *last = self;
    in_order(v, w);
    w->ticket = 1;
    if (w->action == ADP_REJECT && *last > 4000.0)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 100.0);
}

static void outcome(void *self, const adp_outcome *o)
{
    double *last = self;
    if (o->kind == ADP_DONE)
        *last = o->ttft_ms >= 0.0 && o->ttft_ms < 1e9 ? o->ttft_ms : 0.0;
}

GALLERY = { GALLERY_HEAD,    GALLERY_SERIAL,   .create = create,
            .destroy = free, .decide = decide, .outcome = outcome };
