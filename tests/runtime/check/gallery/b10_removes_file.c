/* SPDX-License-Identifier: MIT */
/* When memory is out it removes a file first; that there is none is beside the point. */
#include "gallery.h"

#include <stdlib.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    void *state = malloc(64);
    if (state)
        return state;
    unlink("/nowhere/admitperf-gallery");
    return adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
