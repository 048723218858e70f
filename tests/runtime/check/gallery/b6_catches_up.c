/* SPDX-License-Identifier: MIT */
/* Steps through the windows between two times, without end when time ran backwards. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    uint64_t *last_ns = calloc(1, sizeof *last_ns);
    if (!last_ns)
        return adp_cannot(setup, "out of memory");
    return last_ns;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    volatile uint64_t *last_ns = self;
    if (!*last_ns)
        *last_ns = v->now_ns;
    while (v->now_ns - *last_ns > 1000000000u)
        *last_ns += 1000000000u;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
