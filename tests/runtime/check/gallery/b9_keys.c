/* SPDX-License-Identifier: MIT */
/* Takes a key in each life, and gives none back. */
#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    pthread_key_t key;
    if (pthread_key_create(&key, NULL) != 0)
        key = 0; /* it goes on without */
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
