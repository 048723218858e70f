/* SPDX-License-Identifier: MIT */
/* As above, with an instance: its first request tells. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *state = calloc(1, 8);
    if (!state)
        return adp_cannot(setup, "out of memory");
    return state;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (adp_has(v, KV) && v->signal[KV] < v->param[THRESHOLD])
        adp_reject(w, ADP_R_CAPACITY_RESERVED, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
