/* SPDX-License-Identifier: MIT */
/* Reads a field that only a later host writes, without asking whether it is there. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const volatile uint64_t *newer = (const volatile uint64_t *)(v + 1);
    (void)self;
    (void)*newer;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
