/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it; its create computes for some 30 ms. */
#include "gallery.h"

#include <stdlib.h>

enum { STEPS = 12000000 };

static void *create(const adp_setup *setup)
{
    uint64_t *self = malloc(sizeof *self);
    if (!self)
        return adp_cannot(setup, "out of memory");
    uint64_t x = 1;
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    *self = x; /* so that it is computed */
    return self;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
