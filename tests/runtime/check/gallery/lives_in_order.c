/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it limits what runs and saves what tickets are numbered from, and
 * leaves room for those that its forerunner sets after the save. */
#include "limits.h"

static const uint64_t room = UINT64_C(1) << 32; /* tickets of one life */

static void *create(const adp_setup *setup)
{
    struct limited *s = limit_create(setup);
    uint64_t last;
    if (s && limit_saved(setup, &last))
        s->last = (last / room + 1) * room;
    return s;
}

GALLERY = {
    GALLERY_HEAD,    .card = &limit_card,    .max_saved = LIMIT_SAVED, .create = create,
    .destroy = free, .decide = limit_decide, .outcome = limit_outcome, .save = limit_save
};
