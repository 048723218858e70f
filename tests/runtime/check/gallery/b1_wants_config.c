/* SPDX-License-Identifier: MIT */
/* Is of no use without a `config:`. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self;
    if (!setup->config)
        return adp_cannot(setup, "a config with classes is needed");
    self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD,     GALLERY_SERIAL,  .flags = ADP_TAKES_CONFIG,
            .create = create, .destroy = free, .decide = usual_decide };
