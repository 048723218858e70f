/* SPDX-License-Identifier: MIT */
/* Takes a lock and gives it back on all paths but one: waits for ever afterwards. */
#include "gallery.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    pthread_mutex_lock(&lock);
    in_order(v, w);
    if (v->draw < 0.999)
        pthread_mutex_unlock(&lock);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .decide = decide };
