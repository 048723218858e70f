/* SPDX-License-Identifier: MIT */
/* Takes a tenant for granted. */
#include "gallery.h"

#include <string.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (strlen(v->request->tenant) > 1000)
        adp_reject(w, ADP_R_TENANT_QUOTA, ADP_NONE);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
