/* SPDX-License-Identifier: MIT */
/* Another locale for the thread that loads it. */
#include "gallery.h"

#include <locale.h>

__attribute__((constructor)) static void begin(void)
{
    locale_t own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (own != (locale_t)0)
        uselocale(own);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
