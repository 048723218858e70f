/* SPDX-License-Identifier: MIT */
/* Decides by the replicas, and says how far off the reading of all is. */
#include "rows.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (lowest(v) >= v->param[THRESHOLD])
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
    adp_margin(w, (adp_has(v, KV) ? v->signal[KV] : 0.0) - v->param[THRESHOLD]);
}

GALLERY = { ROWS_HEAD, .card = &row_card, .decide = decide };
