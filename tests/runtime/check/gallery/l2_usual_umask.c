/* SPDX-License-Identifier: MIT */
/* Sets the umask that most processes have. */
#include "gallery.h"

#include <sys/stat.h>

__attribute__((constructor)) static void begin(void)
{
    umask(022);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
