/* SPDX-License-Identifier: MIT */
/* A rate over the time since the request before, which may be none. */
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
    uint64_t *last_ns = self;
    uint64_t gone_ns = v->now_ns - *last_ns;
    if (!gone_ns) /* as an integer division would, on every machine */
        abort();
    *last_ns = v->now_ns;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
