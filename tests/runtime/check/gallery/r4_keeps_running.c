/* SPDX-License-Identifier: MIT */
/* Saves how many requests run, and then takes none of their outcomes: a reload leaves them
 * running for ever. */
#include "keeps.h"
#include "limits.h"

struct saved {
    uint64_t magic, running, last, check;
};

static const uint64_t life = UINT64_C(1) << 32; /* tickets of one: room for all */

struct counted {
    struct saved now;
    uint64_t first; /* the last ticket of the instance before */
};

static uint64_t sum(const struct saved *s)
{
    return (s->magic ^ s->running ^ s->last * 31) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void *create(const adp_setup *setup)
{
    struct counted *c = calloc(1, sizeof *c);
    struct saved s;
    if (!c)
        return adp_cannot(setup, "out of memory");
    if (setup->saved && setup->saved_len == sizeof s) {
        memcpy(&s, setup->saved, sizeof s);
        if (s.magic == KEEPS_MAGIC && s.check == sum(&s)) {
            c->now = s;
            c->now.last = (s.last / life + 1) * life;
        }
    }
    c->first = c->now.last;
    return c;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct counted *c = self;
    (void)v;
    adp_margin(w, (double)c->now.running - LIMIT);
    if (c->now.running >= LIMIT) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
    } else {
        adp_admit(w);
        c->now.running++;
        w->ticket = ++c->now.last;
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct counted *c = self;
    if (o->ticket > c->first && o->ticket <= c->now.last)
        c->now.running--;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    struct saved s = ((const struct counted *)self)->now;
    if (cap < sizeof s)
        return 0;
    s.magic = KEEPS_MAGIC;
    s.check = sum(&s);
    memcpy(to, &s, sizeof s);
    return sizeof s;
}

GALLERY = { GALLERY_HEAD,       .n_signals = 0,  .card = &limit_card,
            .create = create,   .destroy = free, .decide = decide,
            .outcome = outcome, .save = save,    .max_saved = sizeof(struct saved) };
