/* SPDX-License-Identifier: MIT */
/* A policy that lets twenty requests run at a time. The defects of the gallery's B8 are in
 * how it is told that one is over. */
#ifndef ADP_TESTS_GALLERY_LIMITS_H
#define ADP_TESTS_GALLERY_LIMITS_H

#include "gallery.h"

#include <stdlib.h>

enum { LIMIT = 20 };

/* Its tickets are 1 and on; a place in `out` holds one that is not back yet. */
struct limited {
    uint64_t last, out[LIMIT];
};

UNUSED static const adp_card limit_card = { .margin_unit = "requests" };

static inline void *limit_create(const adp_setup *setup)
{
    void *self = calloc(1, sizeof(struct limited));
    return self ? self : adp_cannot(setup, "out of memory");
}

static inline void limit_decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct limited *s = self;
    int running = 0, place = 0;
    (void)v;
    for (int i = 0; i < LIMIT; i++) {
        running += s->out[i] != 0;
        place = s->out[i] ? place : i;
    }
    adp_margin(w, running - LIMIT);
    if (running == LIMIT) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        adp_admit(w);
        w->ticket = s->out[place] = ++s->last;
    }
}

static inline void limit_outcome(void *self, const adp_outcome *o)
{
    struct limited *s = self;
    for (int i = 0; i < LIMIT; i++)
        if (s->out[i] == o->ticket)
            s->out[i] = 0;
}

#endif
