/* SPDX-License-Identifier: MIT */
/* Keeps the parameters that create was given, where they were. */
#include "gallery.h"

#include <stdlib.h>

struct state {
    const double *param;
};

static void *create(const adp_setup *setup)
{
    struct state *s = malloc(sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    s->param = setup->param;
    return s;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    volatile double at = s->param[THRESHOLD];
    (void)at;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
