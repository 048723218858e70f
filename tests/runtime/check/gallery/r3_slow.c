/* SPDX-License-Identifier: MIT */
/* Thinks for some microseconds. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    volatile uint32_t spin = 0;
    (void)self;
    while (spin < 3000)
        spin = spin + 1;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
