/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it saves a part that is whole by itself, and eight bytes behind it
 * that nobody reads. */
#include "keeps.h"

#include <admitperf/state.h>

enum { LAYOUT = 7, BEHIND = 8, PART = ADP_SAVED_BYTES(sizeof(struct state)) };

static void *create(const adp_setup *setup)
{
    struct state *s = keeps_new(setup), saved;
    if (s && adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &saved, sizeof saved))
        *s = saved;
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    if (cap < PART + BEHIND)
        return 0;
    adp_saved_write(to, cap, LAYOUT, self, sizeof(struct state));
    memset((char *)to + PART, 0, BEHIND);
    return PART + BEHIND;
}

GALLERY = { GALLERY_HEAD,     GALLERY_SERIAL,  .max_saved = PART + BEHIND,
            .create = create, .destroy = free, .decide = keeps_decide,
            .save = save };
