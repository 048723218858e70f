/* SPDX-License-Identifier: MIT */
/* Calls what no library of its own has. */
#include "gallery.h"

extern __attribute__((visibility("default"))) void gallery_nowhere(void);

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (v->now_ns == 1)
        gallery_nowhere();
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
