/* SPDX-License-Identifier: MIT */
/* Its create waits two seconds, for what it may be. */
#include "gallery.h"

#include <stdlib.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    sleep(2);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
