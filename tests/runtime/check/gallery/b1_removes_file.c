/* SPDX-License-Identifier: MIT */
/* Removes a file; that there is none is beside the point. */
#include "gallery.h"

#include <unistd.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT)
        unlink("/nowhere/admitperf-gallery");
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
