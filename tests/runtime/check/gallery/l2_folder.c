/* SPDX-License-Identifier: MIT */
/* Another current directory for the whole process. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    if (chdir("/usr") != 0)
        return;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
