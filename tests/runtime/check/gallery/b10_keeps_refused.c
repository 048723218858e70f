/* SPDX-License-Identifier: MIT */
/* Forgets what it has taken when it does not like a parameter. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(100);
    if (self && setup->param[THRESHOLD] < 0.001)
        return adp_cannot(setup, "threshold is too low to be meant");
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
