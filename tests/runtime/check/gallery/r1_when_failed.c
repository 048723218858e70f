/* SPDX-License-Identifier: MIT */
/* Takes memory where a request has failed. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_ADMIT)
        w->ticket = 1;
}

static void outcome(void *self, const adp_outcome *o)
{
    (void)self;
    if (o->kind != ADP_FAILED)
        return;
    volatile uint64_t *copy = malloc(sizeof *copy);
    if (copy)
        *copy = o->ticket;
    free((void *)(uintptr_t)copy);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide, .outcome = outcome };
