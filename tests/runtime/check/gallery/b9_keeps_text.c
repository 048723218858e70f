/* SPDX-License-Identifier: MIT */
/* Leaves the text that libc made for it. */
#include "gallery.h"

#include <stdio.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    char *text = NULL;
    void *self = malloc(1);
    if (!self)
        return adp_cannot(setup, "out of memory");
    if (asprintf(&text, "threshold %g", setup->param[THRESHOLD]) < 0) {
        free(self);
        return adp_cannot(setup, "out of memory");
    }
    return self;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
