/* SPDX-License-Identifier: MIT */
/* Looks at its own watch. */
#include "gallery.h"

#include <time.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct timespec now;
    (void)self;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_nsec < 0)
        adp_reject(w, ADP_R_RATE_LIMIT, ADP_NONE);
    else
        in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
