/* SPDX-License-Identifier: MIT */
/* Keeps the text of a tenant from one request to the next. */
#include "gallery.h"

#include <stdlib.h>

struct state {
    const char *tenant;
};

static void *create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    return s ? s : adp_cannot(setup, "out of memory");
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    volatile char first = s->tenant ? s->tenant[0] : 0;
    (void)first;
    s->tenant = v->request->tenant;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
