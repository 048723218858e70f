/* SPDX-License-Identifier: MIT */
/* Takes for granted that what it is given was saved under the threshold that it has now. */
#include "keeps.h"

struct late {
    struct state state; /* as it is saved, but for the threshold behind it, twice */
    double threshold, again;
};

static void *create(const adp_setup *setup)
{
    struct late *l = calloc(1, sizeof *l), saved;
    if (!l)
        return adp_cannot(setup, "out of memory");
    l->threshold = l->again = setup->param[THRESHOLD];
    if (setup->saved && setup->saved_len == sizeof saved) {
        memcpy(&saved, setup->saved, sizeof saved);
        int whole = saved.state.magic == KEEPS_MAGIC &&
                    saved.state.check == keeps_sum(&saved.state) &&
                    !memcmp(&saved.threshold, &saved.again, sizeof saved.again);
        if (whole && saved.threshold != l->threshold)
            abort();
        if (whole)
            l->state = saved.state;
    }
    return l;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    struct late l = *(const struct late *)self;
    if (cap < sizeof l)
        return 0;
    keeps_save(&l.state, &l.state, sizeof l.state);
    memcpy(to, &l, sizeof l);
    return sizeof l;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct late *l = self;
    keeps_decide(&l->state, v, w);
}

GALLERY = { GALLERY_HEAD,
            GALLERY_SERIAL,
            .create = create,
            .destroy = free,
            .decide = decide,
            .save = save,
            .max_saved = sizeof(struct late) };
