/* SPDX-License-Identifier: MIT */
/* Puts its threshold aside in create, though it is one that may change. */
#include "gallery.h"

#include <stdlib.h>

struct state {
    double threshold;
};

static void *create(const adp_setup *setup)
{
    struct state *s = malloc(sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    s->threshold = setup->param[THRESHOLD];
    return s;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const struct state *s = self;
    if (adp_has(v, KV) && v->signal[KV] >= s->threshold)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
