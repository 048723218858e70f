/* SPDX-License-Identifier: MIT */
/* Takes it that a deadline lies ahead. */
#include "gallery.h"

#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (v->request->present & ADP_DEADLINE && v->request->ttft_deadline_ms <= 0.0)
        abort();
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
