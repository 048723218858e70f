/* SPDX-License-Identifier: MIT */
/* Waits for what never comes. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const volatile adp_request *request = v->request;
    (void)self;
    while (!request->present)
        ;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
