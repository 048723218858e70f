/* SPDX-License-Identifier: MIT */
/* Its create writes to where nothing is. */
#include "gallery.h"

#include <stdlib.h>

static volatile uint64_t *volatile nowhere;

static void *create(const adp_setup *setup)
{
    (void)setup;
    *nowhere = 1;
    return malloc(1);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
