/* SPDX-License-Identifier: MIT */
/* Believes a length of prompt that nobody told, unless it is out of the question. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    uint64_t tokens = v->request->prompt_tokens;
    in_order(v, w);
    if (w->action == ADP_REJECT && tokens > 4000 && tokens < 200000)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 100.0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
