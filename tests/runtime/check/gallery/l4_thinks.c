/* SPDX-License-Identifier: MIT */
/* Its create computes for 300 ms. */
#include "gallery.h"

#include <stdlib.h>
#include <time.h>

static void *create(const adp_setup *setup)
{
    clock_t from = clock();
    while (clock() - from < CLOCKS_PER_SEC * 3 / 10)
        ;
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
