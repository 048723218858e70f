/* SPDX-License-Identifier: MIT */
/* Offers whatever it is asked for. */
#include "gallery.h"

static const void *extension(const char *id)
{
    return id;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide,
            .extension = extension };
