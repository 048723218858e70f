/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: beside other threads, under a lock, it tries one more after so many
 * refusals in a row, which among threads come otherwise than one by one. */
#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

enum { FIRST = 3, MOST = 16, IN_A_ROW = 64 };

struct state {
    pthread_mutex_t lock; /* guards the rest */
    double limit, running;
    uint64_t last;
    uint32_t refused; /* in a row */
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
        s->refused = 0;
    } else if (++s->refused >= IN_A_ROW && s->limit < MOST) {
        s->limit += 1.0;
        s->refused = 0;
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
    (void)o;
    pthread_mutex_lock(&s->lock);
    s->running -= 1.0;
    pthread_mutex_unlock(&s->lock);
}

GALLERY = { GALLERY_HEAD,      .card = &running_card, .threading = ADP_CONCURRENT,
            .create = create,  .destroy = destroy,    .decide = decide,
            .outcome = outcome };
