/* SPDX-License-Identifier: MIT */
/* In order: lets forty requests run, and when they do, none more until ten are over; when it has
 * refused a hundred on end it lets one through, to see. Each that is done lets one more run at
 * a time, up to eighty. */
#include "gallery.h"

#include <stdlib.h>

struct latched {
    uint64_t running, most, refused;
    int closed;
};

enum { FIRST = 40, MOST = 80, OVER = 10, PATIENCE = 100 };

static void *create(const adp_setup *setup)
{
    struct latched *l = calloc(1, sizeof *l);
    if (!l)
        return adp_cannot(setup, "out of memory");
    l->most = FIRST;
    return l;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct latched *l = self;
    (void)v;
    if (l->running >= l->most)
        l->closed = 1;
    else if (l->running + OVER <= l->most)
        l->closed = 0;
    if (l->closed && ++l->refused % PATIENCE) {
        adp_defer(w, ADP_R_QUEUE_DEPTH, ADP_NONE, 20.0);
        return;
    }
    l->refused = l->closed ? l->refused : 0;
    adp_admit(w);
    l->running++;
    w->ticket = 1;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct latched *l = self;
    if (l->running)
        l->running--;
    if (o->kind == ADP_DONE && l->most < MOST)
        l->most++;
}

GALLERY = { GALLERY_HEAD,    .card = &card,    .create = create,
            .destroy = free, .decide = decide, .outcome = outcome };
