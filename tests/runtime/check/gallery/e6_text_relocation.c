/* SPDX-License-Identifier: MIT */
/* Linked with: -Wl,-z,notext */
/* An address among its code, which is written to when it is loaded. */
#include "gallery.h"

__asm__(".pushsection .text\n"
        ".balign 8\n"
        ".quad gallery_here\n"
        "gallery_here:\n"
        ".popsection\n");

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
