/* SPDX-License-Identifier: MIT */
/* Counts in a variable that all instances have together. */
#include "gallery.h"

static volatile uint64_t refused;

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT && ++refused > 20)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .decide = decide };
