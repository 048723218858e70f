/* SPDX-License-Identifier: MIT */
/* Nobody ends its instances. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *state = calloc(1, 64);
    if (!state && setup->error_cap)
        setup->error[0] = '!';
    return state;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .decide = usual_decide };
