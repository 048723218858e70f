/* SPDX-License-Identifier: MIT */
/* Asserts what no host has promised. */
#include "gallery.h"

#include <assert.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    assert(v->request->present & ADP_PROMPT);
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
