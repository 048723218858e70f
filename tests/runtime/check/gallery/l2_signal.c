/* SPDX-License-Identifier: MIT */
/* Takes a signal away from the host. */
#include "gallery.h"

#include <signal.h>

__attribute__((constructor)) static void begin(void)
{
    signal(SIGUSR1, SIG_IGN);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
