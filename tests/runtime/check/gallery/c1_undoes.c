/* SPDX-License-Identifier: MIT */
/* Counts a request before it looks whether there is room, and takes it back by a plain -- where
 * there is none: what others have counted meanwhile is lost. */
#include "loses.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    enum { MOST = 64 };
    struct state *s = self;
    int64_t running = atomic_fetch_add(&s->begun, 1);
    (void)v;
    adp_margin(w, (double)(running - MOST));
    if (running < MOST) {
        w->ticket = (uint64_t)atomic_fetch_add(&s->undone, 1) + 1;
        adp_admit(w);
        return;
    }
    int64_t now = atomic_load(&s->begun);
    dawdle();
    atomic_store(&s->begun, now - 1);
    adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = decide,
            .outcome = gives_back };
