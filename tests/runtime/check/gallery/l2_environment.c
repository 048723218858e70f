/* SPDX-License-Identifier: MIT */
/* The environment of whatever the host starts afterwards. */
#include "gallery.h"

#include <stdlib.h>

__attribute__((constructor)) static void begin(void)
{
    setenv("GALLERY", "was here", 1);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
