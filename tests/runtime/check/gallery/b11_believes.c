/* SPDX-License-Identifier: MIT */
/* Believes whatever has the right length. */
#include "keeps.h"

static void *create(const adp_setup *setup)
{
    struct state *s = keeps_new(setup);
    if (s && setup->saved && setup->saved_len == sizeof *s)
        memcpy(s, setup->saved, sizeof *s);
    return s;
}

GALLERY = { GALLERY_HEAD,      GALLERY_SERIAL,  .max_saved = sizeof(struct state),
            .create = create,  .destroy = free, .decide = keeps_decide,
            .save = keeps_save };
