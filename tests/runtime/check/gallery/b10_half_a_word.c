/* SPDX-License-Identifier: MIT */
/* Reads a text that libc had no memory for. */
#include "gallery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *create(const adp_setup *setup)
{
    char *text = NULL;
    int n = asprintf(&text, "threshold %g", setup->param[THRESHOLD]);
    void *self = calloc(1, n < 0 ? strlen(text) : (size_t)n);
    free(text);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
