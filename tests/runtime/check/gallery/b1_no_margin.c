/* SPDX-License-Identifier: MIT */
/* Divides by what is 0 in every tenth nanosecond: a margin of NaN. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double parts = v->now_ns % 10 ? 1.0 : 0.0;
    (void)self;
    in_order(v, w);
    w->margin = 0.0 * (w->action == ADP_REJECT) / parts;
    w->set |= ADP_SET_MARGIN;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
