/* SPDX-License-Identifier: MIT */
/* Has errors go where output goes. */
#include "gallery.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
