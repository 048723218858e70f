/* SPDX-License-Identifier: MIT */
/* Its decide has a table of 2 MiB on the stack, for a request in a hundred. */
#include "gallery.h"

enum { LARGE = 2 << 20 };

static __attribute__((noinline)) unsigned char sort(const adp_view *v)
{
    volatile unsigned char table[LARGE];
    for (uint32_t i = 0; i < LARGE; i += 64)
        table[i] = (unsigned char)v->present;
    return table[LARGE / 2 - LARGE / 2 % 64];
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (v->draw < 0.01 && w->action == ADP_REJECT && sort(v) != (unsigned char)v->present)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
