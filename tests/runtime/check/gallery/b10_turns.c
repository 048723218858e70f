/* SPDX-License-Identifier: MIT */
/* Says something that reads from the right: U+202E. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of \xe2\x80\xaeyromem");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
