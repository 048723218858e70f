/* SPDX-License-Identifier: MIT */
/* Is configured behind the operator's back. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    (void)setup;
    double *state = calloc(1, sizeof *state);
    if (state && getenv("GALLERY_STRICT"))
        *state = 1.0;
    if (!state)
        return adp_cannot(setup, "out of memory");
    return state;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const double *strict = self;
    in_order(v, w);
    if (w->action == ADP_REJECT && *strict > 0.0)
        w->binding = ADP_NONE;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = decide };
