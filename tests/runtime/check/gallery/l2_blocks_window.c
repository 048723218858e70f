/* SPDX-License-Identifier: MIT */
/* Blocks one signal that nobody is thought to miss. */
#include "gallery.h"

#include <signal.h>

__attribute__((constructor)) static void begin(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGWINCH);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
