/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it learns from what is done how many may run, as long as half of those
 * do, and from what failed that they are too many. */
#include "learns.h"

static const double FIRST = 6.0, LEAST = 2.0, MOST = 48.0, BACK = 0.9;

static void *create(const adp_setup *setup)
{
    return learns_create(setup, FIRST);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    (void)v;
    pthread_mutex_lock(&s->lock);
    double over = learns_take(s, w);
    pthread_mutex_unlock(&s->lock);
    learns_say(w, over);
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

GALLERY = { GALLERY_HEAD,      .card = &running_card,     .threading = ADP_CONCURRENT,
            .create = create,  .destroy = learns_destroy, .decide = decide,
            .outcome = outcome };
