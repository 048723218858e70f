/* SPDX-License-Identifier: MIT */
/* Says hello. */
#include "gallery.h"

#include <stdio.h>

__attribute__((constructor)) static void begin(void)
{
    puts("gallery 1 is here"); /* in the buffer, until somebody flushes it */
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
