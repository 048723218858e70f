/* SPDX-License-Identifier: MIT */
/* Closes standard input: the next file that the host opens is in its place. */
#include "gallery.h"

#include <stdlib.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    close(STDIN_FILENO);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
