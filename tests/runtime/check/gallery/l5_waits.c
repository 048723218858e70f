/* SPDX-License-Identifier: MIT */
/* Waits at the end for what does not come. */
#include "gallery.h"

#include <unistd.h>

__attribute__((destructor)) static void end(void)
{
    for (;;)
        pause();
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
