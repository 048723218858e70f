/* SPDX-License-Identifier: MIT */
/* Every reload waits for its constructor. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    usleep(2300000);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
