/* SPDX-License-Identifier: MIT */
/* Takes memory for one tenant in 64. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (!v->request->tenant || v->request->tenant_key % 64 != 5)
        return;
    volatile double *copy = malloc(sizeof *copy);
    if (copy)
        *copy = v->draw;
    free((void *)(uintptr_t)copy);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
