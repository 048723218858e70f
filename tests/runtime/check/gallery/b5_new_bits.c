/* SPDX-License-Identifier: MIT */
/* Takes facts that it does not know for a mistake. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (v->request->present > 15u)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
