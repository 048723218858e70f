/* SPDX-License-Identifier: MIT */
/* For policies that learn beside other threads, under a lock, how many may run. */
#ifndef ADP_TESTS_GALLERY_LEARNS_H
#define ADP_TESTS_GALLERY_LEARNS_H

#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

struct state {
    pthread_mutex_t lock; /* guards the rest */
    double limit, running;
    uint64_t last;
    uint32_t refused; /* in a row */
};

static const adp_card running_card = { .margin_unit = "requests" };

static void *learns_create(const adp_setup *setup, double first)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return adp_cannot(setup, "out of memory");
    }
    s->limit = first;
    return s;
}

static void learns_destroy(void *self)
{
    struct state *s = self;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* With the lock: takes one, if there is room for it; returns by how much there is not. */
static double learns_take(struct state *s, adp_verdict *w)
{
    double over = s->running + 1.0 - s->limit;
    if (over > 0.0)
        return over;
    s->running += 1.0;
    w->ticket = ++s->last;
    return over - 1.0;
}

static void learns_say(adp_verdict *w, double over)
{
    adp_margin(w, over);
    if (w->ticket)
        adp_admit(w);
    else
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
}

#endif
