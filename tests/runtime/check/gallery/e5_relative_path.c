/* SPDX-License-Identifier: MIT */
/* Linked with: -Wl,-rpath,lib */
/* Looks for libraries below whatever the current directory is. */
#include "gallery.h"

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
