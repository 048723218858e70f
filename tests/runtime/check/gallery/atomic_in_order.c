/* SPDX-License-Identifier: MIT */
/* Counts what runs, beside other threads, with atomics. */
#include "gallery.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 64 };

struct state {
    _Atomic int64_t running;
    _Atomic uint64_t last;
};

static const adp_card running_card = { .margin_unit = "requests" };

static void *create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    return s ? s : adp_cannot(setup, "out of memory");
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    int64_t running = atomic_load(&s->running);
    (void)v;
    while (running < MOST &&
           !atomic_compare_exchange_weak(&s->running, &running, running + 1))
        ;
    adp_margin(w, (double)(running - MOST));
    if (running >= MOST) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        w->ticket = atomic_fetch_add(&s->last, 1) + 1;
        adp_admit(w);
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    if (o->ticket)
        atomic_fetch_sub(&s->running, 1);
}

GALLERY = { GALLERY_HEAD,      .card = &running_card, .threading = ADP_CONCURRENT,
            .create = create,  .destroy = free,       .decide = decide,
            .outcome = outcome };
