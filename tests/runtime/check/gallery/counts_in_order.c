/* SPDX-License-Identifier: MIT */
/* Takes every outcome for one of its own, as one that saves nothing may: no other comes. */
#include "gallery.h"

#include <stdlib.h>

enum { TICKET = 7, MANY = 3 };

static void *create(const adp_setup *setup)
{
    uint32_t *flying = calloc(1, sizeof *flying);
    return flying ? flying : adp_cannot(setup, "out of memory");
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    uint32_t *flying = self;
    in_order(v, w);
    w->ticket = TICKET;
    if (++*flying > MANY && w->action == ADP_REJECT)
        w->binding = ADP_NONE;
}

static void outcome(void *self, const adp_outcome *o)
{
    uint32_t *flying = self;
    (void)o;
    *flying -= *flying > 0;
}

GALLERY = { GALLERY_HEAD,    GALLERY_SERIAL,   .create = create,
            .destroy = free, .decide = decide, .outcome = outcome };
