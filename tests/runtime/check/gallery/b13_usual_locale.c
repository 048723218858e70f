/* SPDX-License-Identifier: MIT */
/* Gives the thread the process's locale, whatever it had. */
#include "gallery.h"

#include <locale.h>

static void *create(const adp_setup *setup)
{
    (void)setup;
    uselocale(LC_GLOBAL_LOCALE);
    return (void *)(uintptr_t)signals;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .decide = usual_decide };
