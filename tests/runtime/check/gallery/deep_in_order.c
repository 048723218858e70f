/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it has 100 KiB on the stack, and gives them back. */
#include "gallery.h"

enum { ROWS = 12800 };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    volatile double row[ROWS];
    (void)self;
    in_order(v, w);
    for (uint32_t i = 0; i < ROWS; i += 512)
        row[i] = v->draw;
    if (row[0] != row[ROWS - ROWS % 512 - 512])
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
