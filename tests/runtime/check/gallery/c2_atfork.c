/* SPDX-License-Identifier: MIT */
/* Is another after a fork. */
#include "gallery.h"

#include <pthread.h>

static int forked;

static void after(void)
{
    forked = 1;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, after);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (forked && w->action == ADP_REJECT)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
