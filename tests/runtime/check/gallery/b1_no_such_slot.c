/* SPDX-License-Identifier: MIT */
/* Names a slot that it has not declared. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT)
        w->binding = 7;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
