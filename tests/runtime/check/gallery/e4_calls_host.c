/* SPDX-License-Identifier: MIT */
/* Calls into the library that it runs in, where there is one. */
#include "gallery.h"

extern __attribute__((weak, visibility("default"))) const char *adp_version(void);

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_version)
        (void)adp_version();
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
