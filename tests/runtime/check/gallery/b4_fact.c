/* SPDX-License-Identifier: MIT */
/* Takes an unknown priority for one. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT && v->request->priority > 100)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 100.0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
