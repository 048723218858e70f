/* SPDX-License-Identifier: MIT */
/* Writes a number as text in decide, for which libc allocates. */
#include "gallery.h"

#include <stdio.h>
#include <stdlib.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    char *text = NULL;
    (void)self;
    if (asprintf(&text, "%g", v->draw) >= 0)
        free(text);
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
