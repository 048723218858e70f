/* SPDX-License-Identifier: MIT */
/* A policy that lets twenty requests run at a time. The defects of the gallery's B8 are in
 * how it is told that one is over; one of B11 is in which ticket it sets next. */
#ifndef ADP_TESTS_GALLERY_LIMITS_H
#define ADP_TESTS_GALLERY_LIMITS_H

#include "gallery.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* Saved: what the next ticket is numbered from, twice. */
enum { LIMIT_SAVED = 3 * sizeof(uint64_t) };
static const uint64_t limit_magic = UINT64_C(0x74656b63697473);

static inline uint64_t limit_save(const void *self, void *to, uint64_t cap)
{
    const struct limited *s = self;
    uint64_t saved[3] = { limit_magic, s->last, ~s->last };
    if (cap < LIMIT_SAVED)
        return 0;
    memcpy(to, saved, LIMIT_SAVED);
    return LIMIT_SAVED;
}

/* False: nothing was saved, or not by that. */
static inline bool limit_saved(const adp_setup *setup, uint64_t *ret_last)
{
    uint64_t saved[3];
    if (!setup->saved || setup->saved_len != LIMIT_SAVED)
        return false;
    memcpy(saved, setup->saved, LIMIT_SAVED);
    *ret_last = saved[1];
    return saved[0] == limit_magic && saved[2] == ~saved[1];
}

#endif
