/* SPDX-License-Identifier: MIT */
/* Decides nothing at all. */
#include "gallery.h"

GALLERY = { GALLERY_HEAD, GALLERY_TABLES };
