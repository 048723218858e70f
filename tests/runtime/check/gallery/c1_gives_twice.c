/* SPDX-License-Identifier: MIT */
/* Gives a place back once more where another thread has changed the count meanwhile. */
#include "loses.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    enum { MOST = 8 };
    struct state *s = self;
    int64_t running = atomic_load(&s->begun);
    (void)v;
    while (running < MOST)
        if (atomic_compare_exchange_weak(&s->begun, &running, running + 1)) {
            adp_margin(w, -1.0);
            w->ticket = 1;
            adp_admit(w);
            return;
        }
    adp_margin(w, 0.0);
    adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    int64_t running = atomic_load(&s->begun);
    if (o->ticket && !atomic_compare_exchange_strong(&s->begun, &running, running - 1))
        atomic_fetch_sub(&s->begun, 2);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = decide,
            .outcome = outcome };
