/* SPDX-License-Identifier: MIT */
/* Tells what it refuses. */
#include "gallery.h"

#include <unistd.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT && write(2, "refused\n", 8) < 0)
        return;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
