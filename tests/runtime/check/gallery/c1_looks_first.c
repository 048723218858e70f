/* SPDX-License-Identifier: MIT */
/* Looks whether there is room, and counts a request right after that: a few instructions lie
 * between. */
#include "loses.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    enum { MOST = 8 };
    struct state *s = self;
    (void)v;
    if (atomic_load(&s->begun) >= MOST) {
        adp_margin(w, 0.0);
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
        return;
    }
    atomic_fetch_add(&s->begun, 1);
    adp_margin(w, -1.0);
    w->ticket = 1;
    adp_admit(w);
}

GALLERY = { GALLERY_HEAD,           .card = &running_card, .threading = ADP_CONCURRENT,
            .create = loses_create, .destroy = free,       .decide = decide,
            .outcome = gives_back };
