/* SPDX-License-Identifier: MIT */
/* Closes whatever its host has open. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 2000; fd++)
        close(fd);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
