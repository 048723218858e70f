/* SPDX-License-Identifier: MIT */
/* Says half of a pair of UTF-16: U+D800, which UTF-8 has not. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of \xed\xa0\x80");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
