/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it limits what runs and saves what tickets are numbered from, and
 * leaves room for those that its forerunner sets after the save. */
#include "limits.h"

#include <string.h>

enum { SAVED = 3 * sizeof(uint64_t) };

static const uint64_t magic = UINT64_C(0x74656b63697474);
static const uint64_t room = UINT64_C(1) << 32; /* tickets of one life */

static void *create(const adp_setup *setup)
{
    struct limited *s = limit_create(setup);
    uint64_t saved[3];
    if (s && setup->saved && setup->saved_len == SAVED) {
        memcpy(saved, setup->saved, SAVED);
        if (saved[0] == magic && saved[2] == ~saved[1])
            s->last = (saved[1] / room + 1) * room;
    }
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct limited *s = self;
    uint64_t saved[3] = { magic, s->last, ~s->last };
    if (cap < SAVED)
        return 0;
    memcpy(to, saved, SAVED);
    return SAVED;
}

GALLERY = {
    GALLERY_HEAD,    .card = &limit_card,    .max_saved = SAVED,       .create = create,
    .destroy = free, .decide = limit_decide, .outcome = limit_outcome, .save = save
};
