/* SPDX-License-Identifier: MIT */
/* A policy of v1.0 with an instance: at most so many in flight, by tickets; a margin, an
 * extension, saved state. Compiled against the header beside it, for ever as it is. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

enum { MOST };

static const adp_param params[] = {
    [MOST] = { "most", "requests", "in flight at most", 1, 1000, 2, ADP_I64, ADP_FIXED },
};
static const adp_card card = {
    .unit = "request",
    .signal_structure = "formal-bound",
    .metadata_assumed = "none",
    .margin_unit = "requests",
};

struct state {
    uint64_t magic, life; /* what is saved: tickets carry the life */
    uint64_t in_flight;   /* not saved: the flights of a life before are not ours */
};

#define SAVED_BYTES 16u
#define STATE_MAGIC UINT64_C(0x66726f7a656e3130)

static void *create(const adp_setup *setup)
{
    struct state saved, *s = calloc(1, sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    s->magic = STATE_MAGIC;
    s->life = 1;
    if (setup->saved && setup->saved_len == SAVED_BYTES) {
        memcpy(&saved, setup->saved, SAVED_BYTES);
        if (saved.magic == STATE_MAGIC)
            s->life = saved.life + 1;
    }
    return s;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    adp_margin(w, (double)s->in_flight - v->param[MOST]);
    if (w->margin >= 0.0) {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE, 100.0 + 100.0 * v->draw);
        return;
    }
    adp_admit(w);
    s->in_flight++;
    w->ticket = s->life;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct state *s = self;
    if (o->ticket == s->life && s->in_flight)
        s->in_flight--;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    if (cap < SAVED_BYTES)
        return 0;
    memcpy(to, self, SAVED_BYTES);
    return SAVED_BYTES;
}

static const void *extension(const char *id)
{
    static const uint32_t answer = 42;
    return strcmp(id, "admitperf-tests.frozen/1") == 0 ? &answer : NULL;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "frozen_tickets",
    .version = "1.0",
    .doc = "admits while fewer than so many are in flight",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = SAVED_BYTES,
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
    .extension = extension,
};
