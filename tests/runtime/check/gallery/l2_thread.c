/* SPDX-License-Identifier: MIT */
/* A thread in a process that may be about to fork. */
#include "gallery.h"

#include <pthread.h>
#include <unistd.h>

static void *idle(void *ctx)
{
    pause();
    return ctx;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) == 0)
        pthread_detach(thread);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
