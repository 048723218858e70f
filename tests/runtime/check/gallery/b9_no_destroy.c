/* SPDX-License-Identifier: MIT */
/* Nobody ends its instances. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *state = calloc(1, 64);
    if (!state)
        return adp_cannot(setup, "out of memory");
    return state;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .decide = usual_decide };
