/* SPDX-License-Identifier: MIT */
/* Refuses by a second condition that no gate tells of. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_has(v, KV) && v->signal[KV] < 0.01)
        adp_reject(w, ADP_R_CAPACITY_RESERVED, KV);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
