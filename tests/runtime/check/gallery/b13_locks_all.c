/* SPDX-License-Identifier: MIT */
/* Keeps all that the host will ever allocate in memory. */
#include "gallery.h"

#include <stdlib.h>
#include <sys/mman.h>

static void *create(const adp_setup *setup)
{
    mlockall(MCL_FUTURE);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
