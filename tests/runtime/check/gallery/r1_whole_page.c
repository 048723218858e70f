/* SPDX-License-Identifier: MIT */
/* Takes a page in decide, by one of the names that allocating has beside malloc. */
#include "gallery.h"

#include <malloc.h>
#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    free(valloc(64));
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
