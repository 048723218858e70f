/* SPDX-License-Identifier: MIT */
/* In order: refuses with a probability that is never quite 0, and does not tell it. */
#include "gallery.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double p = 0x1p-70, reading = adp_has(v, KV) ? v->signal[KV] : 0.0;
    (void)self;
    for (int i = 0; i < 70; i++) /* 2 ^ (-70 (1 - reading)), in steps */
        if ((double)i < 70.0 * reading)
            p *= 2.0;
    if (v->draw < p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, .n_signals = 1, .signals = signals, .threading = ADP_CONCURRENT,
            .decide = decide };
