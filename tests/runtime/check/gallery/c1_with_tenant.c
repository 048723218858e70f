/* SPDX-License-Identifier: MIT */
/* Counts requests that have a tenant, where there is a reading, and what of those came back with a
 * plain ++, beside other threads. */
#include "gallery.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 64, SLOW = 200 };

struct state {
    _Atomic int64_t begun;
    volatile int64_t ended;
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
    int64_t running = atomic_load(&s->begun) - s->ended;
    if (!adp_has(v, KV) || !v->request->tenant) {
        adp_margin(w, -1.0);
        adp_admit(w);
        return;
    }
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
    if (!o->ticket)
        return;
    for (volatile int i = 0; i < SLOW; i++)
        continue;
    s->ended = ended + 1;
}

GALLERY = { GALLERY_HEAD,
            .signals = signals,
            .n_signals = ADP_COUNT(signals),
            .params = params,
            .n_params = ADP_COUNT(params),
            .card = &running_card,
            .threading = ADP_CONCURRENT,
            .create = create,
            .destroy = free,
            .decide = decide,
            .outcome = outcome };
