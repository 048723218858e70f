/* SPDX-License-Identifier: MIT */
/* Declares "at or above" and refuses above. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_gt(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
