/* SPDX-License-Identifier: MIT */
/* For policies that count what began with an atomic and what came back with a plain ++, beside
 * other threads: each that is lost is a place that stays taken. */
#ifndef ADP_TESTS_GALLERY_LOSES_H
#define ADP_TESTS_GALLERY_LOSES_H

#include "gallery.h"

#include <stdatomic.h>
#include <stdlib.h>

struct state {
    _Atomic int64_t begun;
    volatile int64_t ended;
    _Atomic int64_t undone; /* with care */
};

static const adp_card running_card = { .margin_unit = "requests" };

static void *loses_create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    return s ? s : adp_cannot(setup, "out of memory");
}

/* A step that others can get between, as between the halves of a plain ++, only longer. */
static void dawdle(void)
{
    enum { TURNS = 200 };
    for (volatile int i = 0; i < TURNS; i++)
        continue;
}

UNUSED static void loses_decide(void *self, const adp_view *v, adp_verdict *w)
{
    enum { MOST = 64 };
    struct state *s = self;
    int64_t running = atomic_load(&s->begun) - s->ended - atomic_load(&s->undone);
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
UNUSED static void loses_outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    int64_t ended = s->ended;
    if (!o->ticket)
        return;
    dawdle();
    s->ended = ended + 1;
}

/* Of those that lose in decide: what came back is taken off what began, with care. */
UNUSED static void gives_back(void *self, const adp_outcome *o)
{
    struct state *s = self;
    if (o->ticket)
        atomic_fetch_sub(&s->begun, 1);
}

#endif
