/* SPDX-License-Identifier: MIT */
/* Linked with: -Wl,-rpath,/usr/lib:/tmp */
/* Looks for libraries where everybody may put one. */
#include "gallery.h"

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
