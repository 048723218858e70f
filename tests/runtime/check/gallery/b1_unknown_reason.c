/* SPDX-License-Identifier: MIT */
/* A reason of its own. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT)
        w->reason = 99;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
