/* SPDX-License-Identifier: MIT */
/* What the host prints from then on goes to its standard error. */
#include "gallery.h"

#include <stdio.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    stdout = stderr;
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
