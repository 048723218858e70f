/* SPDX-License-Identifier: MIT */
/* Believes a number without a checksum, which matters only after thousands of requests: until
 * then it shows only where it is saved again. */
#include "keeps.h"

enum { MARK = 8, LATE = 5000 };
static const char mark[MARK] = "gallery";

static void *create(const adp_setup *setup)
{
    struct state *s = keeps_new(setup);
    const char *saved = setup->saved;
    if (s && saved && setup->saved_len == MARK + sizeof s->check &&
        !memcmp(saved, mark, MARK))
        memcpy(&s->check, saved + MARK, sizeof s->check);
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct state *s = self;
    if (cap < MARK + sizeof s->check)
        return 0;
    memcpy(to, mark, MARK);
    memcpy((char *)to + MARK, &s->check, sizeof s->check);
    return MARK + sizeof s->check;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    in_order(v, w);
    if (w->action == ADP_REJECT && ++s->refused >= LATE && s->check)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD,     GALLERY_SERIAL,  .max_saved = MARK + sizeof(uint64_t),
            .create = create, .destroy = free, .decide = decide,
            .save = save };
