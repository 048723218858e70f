/* SPDX-License-Identifier: MIT */
/* Ignores a signal that the program it is checked by ignores too: not every host does. */
#include "gallery.h"

#include <signal.h>

__attribute__((constructor)) static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
