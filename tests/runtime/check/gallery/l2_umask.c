/* SPDX-License-Identifier: MIT */
/* Whatever the host writes can be written by everybody. */
#include "gallery.h"

#include <sys/stat.h>

__attribute__((constructor)) static void begin(void)
{
    umask(0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
