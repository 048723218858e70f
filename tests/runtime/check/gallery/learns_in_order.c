/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: beside other threads, under a lock, it learns from what is done how
 * many may run, as long as half of those do, and from what failed that they are too many. */
#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

static const double FIRST = 6.0, LEAST = 2.0, MOST = 48.0, BACK = 0.9;

struct state {
    pthread_mutex_t lock; /* guards the rest */
    double limit, running;
    uint64_t last;
};

static const adp_card running_card = { .margin_unit = "requests" };

static void *create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return adp_cannot(setup, "out of memory");
    }
    s->limit = FIRST;
    return s;
}

static void destroy(void *self)
{
    struct state *s = self;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    (void)v;
    pthread_mutex_lock(&s->lock);
    double over = s->running + 1.0 - s->limit;
    if (over <= 0.0) {
        s->running += 1.0;
        w->ticket = ++s->last;
    }
    pthread_mutex_unlock(&s->lock);
    adp_margin(w, over > 0.0 ? over : over - 1.0);
    if (w->ticket)
        adp_admit(w);
    else
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    pthread_mutex_lock(&s->lock);
    if (o->kind == ADP_DONE && 2.0 * s->running >= s->limit && s->limit < MOST)
        s->limit += 1.0 / s->limit;
    if (o->kind == ADP_FAILED && s->limit > LEAST)
        s->limit *= BACK;
    s->running -= 1.0;
    pthread_mutex_unlock(&s->lock);
}

GALLERY = { GALLERY_HEAD,      .card = &running_card, .threading = ADP_CONCURRENT,
            .create = create,  .destroy = destroy,    .decide = decide,
            .outcome = outcome };
