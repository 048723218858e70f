/* SPDX-License-Identifier: MIT */
/* Tells p where there is one, and at p = 0 refuses whoever draws 0. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double p = adp_has(v, KV) ? v->signal[KV] : 0.0;
    (void)self;
    if (v->draw <= p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
    if (p > 0.0) {
        w->p = p;
        w->set |= ADP_SET_P;
    }
}

GALLERY = { GALLERY_HEAD, .n_signals = 1, .signals = signals, .threading = ADP_CONCURRENT,
            .decide = decide };
