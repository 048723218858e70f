/* SPDX-License-Identifier: MIT */
/* Has the thread of the host never be cancelled again. */
#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
