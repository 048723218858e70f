/* SPDX-License-Identifier: MIT */
/* Takes memory for each request, and gives it back. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    volatile double *copy = malloc(sizeof *copy);
    (void)self;
    if (copy)
        *copy = v->draw;
    in_order(v, w);
    free((void *)(uintptr_t)copy);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
