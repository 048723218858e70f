/* SPDX-License-Identifier: MIT */
/* Each instance blocks one signal. */
#include "gallery.h"

#include <signal.h>

static void *create(const adp_setup *setup)
{
    sigset_t one;
    (void)setup;
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    sigprocmask(SIG_BLOCK, &one, NULL);
    return (void *)(uintptr_t)signals;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .decide = usual_decide };
