/* SPDX-License-Identifier: MIT */
/* Numbers its tickets on from the one that was saved, as its forerunner does that goes on after
 * the save: what comes back of the one settles what the other set. */
#include "limits.h"

static void *create(const adp_setup *setup)
{
    struct limited *s = limit_create(setup);
    uint64_t last;
    if (s && limit_saved(setup, &last))
        s->last = last;
    return s;
}

GALLERY = {
    GALLERY_HEAD,    .card = &limit_card,    .max_saved = LIMIT_SAVED, .create = create,
    .destroy = free, .decide = limit_decide, .outcome = limit_outcome, .save = limit_save
};
