/* SPDX-License-Identifier: MIT */
/* Sets the locale that a program has which never asked for one. */
#include "gallery.h"

#include <locale.h>

__attribute__((constructor)) static void begin(void)
{
    setlocale(LC_ALL, "C");
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
