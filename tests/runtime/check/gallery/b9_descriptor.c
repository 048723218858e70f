/* SPDX-License-Identifier: MIT */
/* Each instance leaves a descriptor open. */
#include "gallery.h"

#include <stdlib.h>
#include <sys/eventfd.h>

static void *create(const adp_setup *setup)
{
    void *state = calloc(1, 64);
    if (!state)
        return adp_cannot(setup, "out of memory");
    if (state && eventfd(0, EFD_CLOEXEC) < 0)
        return state;
    return state;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
