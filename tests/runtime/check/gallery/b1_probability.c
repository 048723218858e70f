/* SPDX-License-Identifier: MIT */
/* A probability of more than 1 now and then. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double p = adp_has(v, KV) ? 1.5 * v->signal[KV] : 0.0;
    (void)self;
    if (v->draw < p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
    w->p = p;
    w->set |= ADP_SET_P;
}

GALLERY = { GALLERY_HEAD, .n_signals = 1, .signals = signals, .decide = decide };
