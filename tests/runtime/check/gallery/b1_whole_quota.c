/* SPDX-License-Identifier: MIT */
/* Is lost as soon as it is not alone. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    if (setup->n_instances != 1)
        abort();
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
