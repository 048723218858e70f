/* SPDX-License-Identifier: MIT */
/* Another locale for the whole process. */
#include "gallery.h"

#include <locale.h>

__attribute__((constructor)) static void begin(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
