/* SPDX-License-Identifier: MIT */
/* Refuses with the highest probability that its readings have come to, and at 0 whoever draws 0:
 * with a memory, and p told. */
#include "gallery.h"

#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    double *most = calloc(1, sizeof *most);
    return most ? most : adp_cannot(setup, "out of memory");
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double *most = self, now = adp_has(v, KV) ? v->signal[KV] : 1.0;
    *most = now > *most ? now : *most;
    w->p = *most;
    w->set |= ADP_SET_P;
    if (v->draw <= w->p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD,    .n_signals = 1,   .signals = signals,     .create = create,
            .destroy = free, .decide = decide, .threading = ADP_SERIAL };
