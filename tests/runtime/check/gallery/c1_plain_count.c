/* SPDX-License-Identifier: MIT */
/* Counts what runs with ++ and --, beside other threads. */
#include "gallery.h"

#include <stdlib.h>

enum { MOST = 64 };

struct state {
    volatile int64_t running;
    volatile uint64_t last;
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
    int64_t running = s->running;
    (void)v;
    adp_margin(w, (double)(running - MOST));
    if (running >= MOST) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        s->running++;
        w->ticket = ++s->last;
        adp_admit(w);
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    if (o->ticket && s->running > 0)
        s->running--;
}

GALLERY = { GALLERY_HEAD,      .card = &running_card, .threading = ADP_CONCURRENT,
            .create = create,  .destroy = free,       .decide = decide,
            .outcome = outcome };
