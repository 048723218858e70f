/* SPDX-License-Identifier: MIT */
/* Asks that a signal be ignored for as long as the process lives. */
#include "gallery.h"

#include <signal.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    signal(SIGTERM, SIG_IGN);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
