/* SPDX-License-Identifier: MIT */
/* In order: a row for each tenant, 64 of them, of which the oldest is given up for one that is
 * new; a tenant that has just been asked for is told to wait a little. */
#include "gallery.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 64 };

struct rows {
    uint64_t key[ROWS]; /* the newest first */
    uint32_t n;
};

static void *create(const adp_setup *setup)
{
    struct rows *r = calloc(1, sizeof *r);
    return r ? r : adp_cannot(setup, "out of memory");
}

/* Its place before, or ROWS. */
static uint32_t touch(struct rows *r, uint64_t key)
{
    uint32_t at = 0;
    while (at < r->n && r->key[at] != key)
        at++;
    uint32_t was = at < r->n ? at : ROWS;
    if (was == ROWS && r->n < ROWS)
        r->n++;
    memmove(r->key + 1, r->key, sizeof *r->key * (at < ROWS ? at : ROWS - 1));
    r->key[0] = key;
    return was;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    if (v->request->tenant && touch(self, v->request->tenant_key) == 0)
        adp_defer(w, ADP_R_RATE_LIMIT, ADP_NONE, 5.0);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD,     .threading = ADP_SERIAL, .card = &card,
            .create = create, .destroy = free,         .decide = decide };
