/* SPDX-License-Identifier: MIT */
/* Changes what happens to the host when its parent dies. */
#include "gallery.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void *create(const adp_setup *setup)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
