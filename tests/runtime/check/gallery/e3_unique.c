/* SPDX-License-Identifier: MIT */
/* As g++ makes of a static variable in an inline function: one for all copies of the
 * file. */
#include "gallery.h"

__asm__(".pushsection .data\n"
        ".globl gallery_count\n"
        ".type gallery_count, %gnu_unique_object\n"
        ".size gallery_count, 8\n"
        "gallery_count: .quad 0\n"
        ".popsection\n");

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
