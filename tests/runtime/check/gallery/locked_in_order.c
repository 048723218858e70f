/* SPDX-License-Identifier: MIT */
/* In order: remembers under a lock that is held for a moment. */
#include "gallery.h"

#include <pthread.h>
#include <stdlib.h>

struct turns {
    pthread_mutex_t lock; /* guards n */
    uint64_t n;
};

static void *create(const adp_setup *setup)
{
    struct turns *t = calloc(1, sizeof *t);
    if (!t || pthread_mutex_init(&t->lock, NULL) != 0) {
        free(t);
        return adp_cannot(setup, "out of memory");
    }
    return t;
}

static void destroy(void *self)
{
    struct turns *t = self;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct turns *t = self;
    (void)v;
    pthread_mutex_lock(&t->lock);
    uint64_t n = ++t->n;
    pthread_mutex_unlock(&t->lock);
    if (n % 3 == 0)
        adp_defer(w, ADP_R_RATE_LIMIT, ADP_NONE, 5.0);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD,     .threading = ADP_CONCURRENT, .card = &card,
            .create = create, .destroy = destroy,          .decide = decide };
