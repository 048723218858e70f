/* SPDX-License-Identifier: MIT */
/* Looks whether there is room, and counts a request after that: threads that look together all
 * find the last place. */
#include "loses.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    enum { MOST = 64 };
    struct state *s = self;
    int64_t running = atomic_load(&s->begun);
    (void)v;
    adp_margin(w, (double)(running - MOST));
    if (running >= MOST) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
        return;
    }
    dawdle();
    atomic_fetch_add(&s->begun, 1);
    w->ticket = (uint64_t)atomic_fetch_add(&s->undone, 1) + 1;
    adp_admit(w);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = decide,
            .outcome = gives_back };
