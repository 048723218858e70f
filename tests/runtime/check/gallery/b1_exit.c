/* SPDX-License-Identifier: MIT */
/* Ends the host, in good order. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (!v->request->present)
        exit(0);
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
