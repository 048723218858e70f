/* SPDX-License-Identifier: MIT */
/* Says that it was made. */
#include "gallery.h"

#include <stdio.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    fprintf(stderr, "gallery: created\n");
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
