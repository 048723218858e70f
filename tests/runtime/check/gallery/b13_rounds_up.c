/* SPDX-License-Identifier: MIT */
/* Rounds as it likes, and leaves it so. */
#include "gallery.h"

#include <fenv.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT)
        fesetround(FE_UPWARD);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
