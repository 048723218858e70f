/* SPDX-License-Identifier: MIT */
/* Colours what it says. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "\033[31mout of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
