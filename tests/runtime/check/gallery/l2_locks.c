/* SPDX-License-Identifier: MIT */
/* Locks its table in memory as it is loaded: what a process may lock is the host's. */
#include "gallery.h"

#include <sys/mman.h>

static char table[8192];

__attribute__((constructor)) static void begin(void)
{
    mlock(table, sizeof table);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
