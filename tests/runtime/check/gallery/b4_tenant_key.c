/* SPDX-License-Identifier: MIT */
/* Knows a tenant by a key that is garbage where there is none. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (w->action == ADP_REJECT && v->request->tenant_key == 1)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
