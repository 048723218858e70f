/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it tries one more after so many refusals in a row, which among threads
 * come otherwise than one by one. */
#include "learns.h"

enum { FIRST = 3, MOST = 16, IN_A_ROW = 64 };

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
    s->refused = w->ticket ? 0 : s->refused + 1;
    if (s->refused >= IN_A_ROW && s->limit < MOST) {
        s->limit += 1.0;
        s->refused = 0;
    }
    pthread_mutex_unlock(&s->lock);
    learns_say(w, over);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    (void)o;
    pthread_mutex_lock(&s->lock);
    s->running -= 1.0;
    pthread_mutex_unlock(&s->lock);
}

GALLERY = { GALLERY_HEAD,      .card = &running_card,     .threading = ADP_CONCURRENT,
            .create = create,  .destroy = learns_destroy, .decide = decide,
            .outcome = outcome };
