/* SPDX-License-Identifier: MIT */
/* Has the host's reads and writes fail when they would wait. */
#include "gallery.h"

#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
