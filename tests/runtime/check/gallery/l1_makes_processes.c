/* SPDX-License-Identifier: MIT */
/* Each process of it makes another and goes on: 32 in a row, and no more. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < 32 && fork() > 0; i++)
        ;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
