/* SPDX-License-Identifier: MIT */
/* Clears more of the verdict than it knows. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (w->size > sizeof *w)
        *(volatile uint64_t *)(w + 1) = 0;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
