/* SPDX-License-Identifier: MIT */
/* Counts what is done with a plain ++, beside other threads, and with care what did not run. */
#include "loses.h"

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    if (o->kind == ADP_DONE)
        loses_outcome(self, o);
    else
        atomic_fetch_add(&s->undone, 1);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = loses_decide,
            .outcome = outcome };
