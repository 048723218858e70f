/* SPDX-License-Identifier: MIT */
/* Has getopt of the host begin at another word. */
#include "gallery.h"

#include <stdlib.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    optind = 99;
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
