/* SPDX-License-Identifier: MIT */
/* Forgets the action for the requests that it should refuse. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (!adp_ge(v, KV, THRESHOLD))
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
