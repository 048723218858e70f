/* SPDX-License-Identifier: MIT */
/* Maps memory that nobody gives back. */
#include "gallery.h"

#include <stdlib.h>
#include <sys/mman.h>

static void *create(const adp_setup *setup)
{
    void *self = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return self != MAP_FAILED ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .decide = usual_decide };
