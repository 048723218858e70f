/* SPDX-License-Identifier: MIT */
/* Believes what is absent wherever it could be true. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    double kv = v->signal[KV];
    if (!adp_has(v, KV) && kv > v->param[THRESHOLD] && kv < 0.999)
        adp_defer(w, ADP_R_SIGNAL_STALE, KV, 100.0);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
