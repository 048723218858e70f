/* SPDX-License-Identifier: MIT */
/* Writes to what malloc gave, or did not. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    volatile int *state = malloc(64);
    (void)setup;
    *state = 1;
    return (void *)(uintptr_t)state;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
