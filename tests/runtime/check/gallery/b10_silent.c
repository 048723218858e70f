/* SPDX-License-Identifier: MIT */
/* There is no instance, and no reason. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    (void)setup;
    return calloc(1, 64);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
