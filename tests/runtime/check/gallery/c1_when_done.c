/* SPDX-License-Identifier: MIT */
/* Counts what is done with a plain ++, beside other threads, and with care what did not run. */
#include "gallery.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 64, SLOW = 200 };

struct state {
    _Atomic int64_t begun;
    volatile int64_t ended;
    _Atomic int64_t undone;
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
    int64_t running = atomic_load(&s->begun) - s->ended - s->undone;
    (void)v;
    adp_margin(w, (double)(running - MOST));
    if (running >= MOST) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        w->ticket = (uint64_t)atomic_fetch_add(&s->begun, 1) + 1;
        adp_admit(w);
    }
}

/* ++ as it is, only slower: whoever is stopped between has lost what the others count. */
static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    int64_t ended = s->ended;
    if (o->kind != ADP_DONE) {
        atomic_fetch_add(&s->undone, 1);
        return;
    }
    for (volatile int i = 0; i < SLOW; i++)
        continue;
    s->ended = ended + 1;
}

GALLERY = { GALLERY_HEAD,      .card = &running_card, .threading = ADP_CONCURRENT,
            .create = create,  .destroy = free,       .decide = decide,
            .outcome = outcome };
