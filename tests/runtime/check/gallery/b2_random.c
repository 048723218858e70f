/* SPDX-License-Identifier: MIT */
/* Throws its own dice. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (rand() < 0)
        adp_reject(w, ADP_R_RATE_LIMIT, ADP_NONE);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
