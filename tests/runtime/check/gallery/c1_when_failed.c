/* SPDX-License-Identifier: MIT */
/* Learns by each end but a failure that it may take more, so that only failures show what it
 * loses by a plain --. */
#include "loses.h"

enum { MOST = 20, LEARNT_PER = 1000, UTMOST = 1000 };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    int64_t running = atomic_load(&s->begun);
    int64_t most = MOST + atomic_load(&s->undone) / LEARNT_PER;
    (void)v;
    most = most < UTMOST ? most : UTMOST;
    do {
        adp_margin(w, (double)(running - most));
        if (running >= most) {
            adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
            return;
        }
    } while (!atomic_compare_exchange_weak(&s->begun, &running, running + 1));
    w->ticket = (uint64_t)running + 1;
    adp_admit(w);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    int64_t running = atomic_load(&s->begun);
    if (!o->ticket)
        return;
    dawdle();
    atomic_store(&s->begun, running - 1);
    if (o->kind != ADP_FAILED)
        atomic_fetch_add(&s->undone, 1);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = decide,
            .outcome = outcome };
