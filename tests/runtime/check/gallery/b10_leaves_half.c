/* SPDX-License-Identifier: MIT */
/* Forgets the first block when the second cannot be had. */
#include "gallery.h"

#include <stdlib.h>

struct state {
    void *table;
};

static void *create(const adp_setup *setup)
{
    struct state *state = calloc(1, sizeof *state);
    if (state && !(state->table = calloc(1, 64)))
        state = NULL;
    if (!state)
        return adp_cannot(setup, "out of memory");
    return state;
}

static void destroy(void *self)
{
    struct state *state = self;
    free(state->table);
    free(state);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = usual_decide };
