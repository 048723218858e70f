/* SPDX-License-Identifier: MIT */
/* Refuses until a time that it saves, and believes it under a clock that has begun anew. */
#include "keeps.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    if (adp_ge(v, KV, THRESHOLD))
        s->refused = v->now_ns + 1000000000u;
    if (v->now_ns < s->refused)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 1000.0);
    else
        adp_admit(w);
}
GALLERY = { GALLERY_HEAD,           GALLERY_SERIAL,  .max_saved = sizeof(struct state),
            .create = keeps_create, .destroy = free, .decide = decide,
            .save = keeps_save };
