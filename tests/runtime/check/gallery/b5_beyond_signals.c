/* SPDX-License-Identifier: MIT */
/* Looks at the slot behind its last. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const volatile double *signal = v->signal;
    (void)self;
    (void)signal[1];
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
