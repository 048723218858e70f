/* SPDX-License-Identifier: MIT */
/* Ignores a signal that the program it is checked by ignores too: not every host does. */
#include "gallery.h"

#include <signal.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    signal(SIGPIPE, SIG_IGN);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
