/* SPDX-License-Identifier: MIT */
/* Takes the environment's locale, which may be the one that is in force. */
#include "gallery.h"

#include <locale.h>

__attribute__((constructor)) static void begin(void)
{
    setlocale(LC_ALL, "");
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
