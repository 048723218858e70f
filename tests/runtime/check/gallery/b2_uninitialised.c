/* SPDX-License-Identifier: MIT */
/* Starts from whatever lay there. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    volatile unsigned char *state = malloc(3000);
    if (!state)
        return adp_cannot(setup, "out of memory");
    return (void *)(uintptr_t)state;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const volatile unsigned char *state = self;
    in_order(v, w);
    if (w->action == ADP_REJECT && state[2000] > 0x40)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, state[2000]);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
