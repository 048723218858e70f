/* SPDX-License-Identifier: MIT */
/* Linked with: -Wl,-z,execstack */
/* Makes every stack of the process executable. */
#include "gallery.h"

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
