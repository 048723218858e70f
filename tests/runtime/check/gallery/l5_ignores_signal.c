/* SPDX-License-Identifier: MIT */
/* Nobody is to end the process while it goes. */
#include "gallery.h"

#include <signal.h>

__attribute__((destructor)) static void end(void)
{
    signal(SIGTERM, SIG_IGN);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
