/* SPDX-License-Identifier: MIT */
/* Where there are replicas it refuses whose draw is above p. */
#include "rows.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double p = lowest(v) - v->param[THRESHOLD];
    (void)self;
    w->p = p > 0.0 ? p : 0.0;
    w->set |= ADP_SET_P;
    if (v->n_replicas ? p > 0.0 && v->draw >= p : v->draw < w->p)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { ROWS_HEAD, .decide = decide };
