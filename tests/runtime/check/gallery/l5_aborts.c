/* SPDX-License-Identifier: MIT */
/* Is sure at exit that something has gone wrong. */
#include "gallery.h"

#include <stdlib.h>

static void at_end(void)
{
    abort();
}

__attribute__((constructor)) static void begin(void)
{
    atexit(at_end);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
