/* SPDX-License-Identifier: MIT */
/* A text that is nowhere. */
#include "gallery.h"

GALLERY = {
    GALLERY_HEAD,
    GALLERY_TABLES,
    .doc = (const char *)16,
    .decide = usual_decide,
};
