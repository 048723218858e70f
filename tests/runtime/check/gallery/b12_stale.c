/* SPDX-License-Identifier: MIT */
/* Calls every refusal one for want of readings. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_SIGNAL_STALE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
