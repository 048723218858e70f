/* SPDX-License-Identifier: MIT */
/* Refuses a value within its bounds, and does not say why. */
#include "gallery.h"

#include <stdlib.h>
#include <string.h>

static void *create(const adp_setup *setup)
{
    void *state = setup->param[THRESHOLD] < 1.0 ? malloc(1) : NULL;
    if (!state && setup->param[THRESHOLD] < 1.0 && setup->error_cap > 4)
        memcpy(setup->error, "full", 5);
    return state;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
