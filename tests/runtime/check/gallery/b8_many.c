/* SPDX-License-Identifier: MIT */
/* Has room for a hundred tickets, and nobody asks for more, it thinks. */
#include "gallery.h"

#include <stdlib.h>

enum { ROOM = 100 };

struct state {
    uint32_t n;
    uint32_t taken[ROOM];
};

static void *create(const adp_setup *setup)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return adp_cannot(setup, "out of memory");
    return state;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *state = self;
    in_order(v, w);
    if (state->n == ROOM) /* a write past the end, seen on every machine */
        abort();
    state->taken[state->n] = state->n;
    w->ticket = ++state->n;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *state = self;
    (void)o;
    state->n--;
}

GALLERY = { GALLERY_HEAD,    GALLERY_SERIAL,   .create = create,
            .destroy = free, .decide = decide, .outcome = outcome };
