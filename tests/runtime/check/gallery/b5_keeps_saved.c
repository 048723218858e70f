/* SPDX-License-Identifier: MIT */
/* Keeps the pointer to what was saved, and goes on from there. */
#include "keeps.h"

struct late {
    struct state state; /* as it is saved */
    const void *saved;  /* to be read with the first request */
};

static void *create(const adp_setup *setup)
{
    struct late *l = calloc(1, sizeof *l);
    struct state saved;
    if (!l)
        return adp_cannot(setup, "out of memory");
    if (setup->saved && setup->saved_len == sizeof saved) {
        memcpy(&saved, setup->saved, sizeof saved);
        if (saved.magic == KEEPS_MAGIC && saved.check == keeps_sum(&saved))
            l->saved = setup->saved;
    }
    return l;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct late *l = self;
    if (l->saved)
        memcpy(&l->state, l->saved, sizeof l->state);
    l->saved = NULL;
    keeps_decide(&l->state, v, w);
}

GALLERY = { GALLERY_HEAD,
            GALLERY_SERIAL,
            .create = create,
            .destroy = free,
            .decide = decide,
            .save = keeps_save,
            .max_saved = sizeof(struct state) };
