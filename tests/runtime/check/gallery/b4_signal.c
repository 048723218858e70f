/* SPDX-License-Identifier: MIT */
/* Compares before it asks whether there is anything to compare. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (v->signal[KV] > 2.0)
        adp_defer(w, ADP_R_SIGNAL_STALE, KV, 100.0);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
