/* SPDX-License-Identifier: MIT */
/* Believes the beginning of what was saved, if that is all there is. */
#include "keeps.h"

static void *create(const adp_setup *setup)
{
    struct state *s = keeps_create(setup), part = { 0 };
    if (s && setup->saved && setup->saved_len >= 16 && setup->saved_len < sizeof *s) {
        memcpy(&part, setup->saved, setup->saved_len);
        if (part.magic == KEEPS_MAGIC)
            s->refused = part.refused;
    }
    return s;
}

GALLERY = { GALLERY_HEAD,      GALLERY_SERIAL,  .max_saved = sizeof(struct state),
            .create = create,  .destroy = free, .decide = keeps_decide,
            .save = keeps_save };
