/* SPDX-License-Identifier: MIT */
/* Puts its threshold aside in create, and goes by it where a switch is on that is off by
 * default. */
#include "gallery.h"

#include <stdlib.h>

enum { STEADY = THRESHOLD + 1 };
static const adp_param both[] = {
    [THRESHOLD] = { "threshold", "ratio", NULL, 0.0, 1.0, 0.5, ADP_F64, 0 },
    [STEADY] = { "steady", "", NULL, 0.0, 1.0, 0.0, ADP_BOOL, ADP_FIXED },
};

struct state {
    double threshold;
};

static void *create(const adp_setup *setup)
{
    struct state *s = malloc(sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    s->threshold = setup->param[THRESHOLD];
    return s;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const struct state *s = self;
    double at = v->param[STEADY] != 0.0 ? s->threshold : v->param[THRESHOLD];
    if (adp_has(v, KV) && v->signal[KV] >= at)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD,    ADP_TABLES(signals, both, gates),
            .card = &card,   .create = create,
            .destroy = free, .decide = decide };
