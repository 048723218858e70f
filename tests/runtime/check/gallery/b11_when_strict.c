/* SPDX-License-Identifier: MIT */
/* Counts something that matters under one parameter alone, which is off by default, and does
 * not save it. */
#include "keeps.h"

enum { STRICT = THRESHOLD + 1 };
static const adp_param both[] = {
    [THRESHOLD] = { "threshold", "ratio", NULL, 0.0, 1.0, 0.5, ADP_F64, 0 },
    [STRICT] = { "strict", "", NULL, 0.0, 1.0, 0.0, ADP_BOOL, ADP_FIXED },
};

struct counts {
    struct state saved; /* first: it is what keeps_save takes */
    uint64_t third;
};

static void *create(const adp_setup *setup)
{
    struct counts *c = calloc(1, sizeof *c);
    struct state *s = c ? keeps_create(setup) : NULL;
    if (!s) {
        free(c);
        return adp_cannot(setup, "out of memory");
    }
    c->saved = *s;
    free(s);
    return c;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct counts *c = self;
    keeps_decide(&c->saved, v, w);
    if (v->param[STRICT] != 0.0 && ++c->third % 3 == 0 && w->action == ADP_REJECT)
        w->reason = ADP_R_RATE_LIMIT;
}

GALLERY = { GALLERY_HEAD,     ADP_TABLES(signals, both, gates),
            .card = &card,    .max_saved = sizeof(struct state),
            .create = create, .destroy = free,
            .decide = decide, .save = keeps_save };
