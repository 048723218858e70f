/* SPDX-License-Identifier: MIT */
/* Keeps the key of each tenant that it has seen, in a table that is made larger when the 256
 * rows it began with are full. */
#include "gallery.h"

#include <stdlib.h>

struct seen {
    uint64_t *key;
    size_t n, room;
};

static void *create(const adp_setup *setup)
{
    struct seen *s = calloc(1, sizeof *s);
    if (s && (s->key = calloc(256, sizeof *s->key)) != NULL) {
        s->room = 256;
        return s;
    }
    free(s);
    return adp_cannot(setup, "out of memory");
}

static void destroy(void *self)
{
    struct seen *s = self;
    free(s->key);
    free(s);
}

static void note(struct seen *s, uint64_t key)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->key[i] == key)
            return;
    if (s->n == s->room) {
        uint64_t *more = realloc(s->key, 2 * s->room * sizeof *more);
        if (!more)
            return;
        s->key = more;
        s->room *= 2;
    }
    s->key[s->n++] = key;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    in_order(v, w);
    if (v->request->tenant)
        note(self, v->request->tenant_key);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = decide };
