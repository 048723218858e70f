/* SPDX-License-Identifier: MIT */
/* In order: refuses with a probability that is never quite 0, and down to 2^-70: below the
 * least draw above 0. Without a reading, one in ten is told to come back, by a
 * draw of its own. */
#include "gallery.h"

#include <admitperf/draw.h>

static double chance_of(double reading)
{
    double p = 1.0;
    for (int i = 0; i < 70; i++) /* 2 ^ (-70 (1 - reading)), in steps */
        if ((double)i >= 70.0 * reading)
            p /= 2.0;
    return p;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (!adp_has(v, KV)) {
        /* By a draw of its own, of which nothing is told. */
        if (adp_draw_nth(v->draw, 1) < 0.1)
            adp_defer(w, ADP_R_SIGNAL_STALE, KV, 50.0);
        else
            adp_admit(w);
        return;
    }
    w->p = chance_of(v->signal[KV]);
    w->set |= ADP_SET_P;
    if (v->draw < w->p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, .n_signals = 1, .signals = signals, .threading = ADP_CONCURRENT,
            .decide = decide };
