/* SPDX-License-Identifier: MIT */
/* Leaves the host next to no address space. */
#include "gallery.h"

#include <sys/resource.h>

__attribute__((constructor)) static void begin(void)
{
    struct rlimit r = { 1 << 16, 1 << 16 };
    setrlimit(RLIMIT_AS, &r);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
