/* SPDX-License-Identifier: MIT */
/* Ends the host after an hour. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    alarm(3600);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
