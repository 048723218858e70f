/* SPDX-License-Identifier: MIT */
/* Refuses where every replica is full, and says how far off that is. */
#include "rows.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    double margin = lowest(v) - v->param[THRESHOLD];
    (void)self;
    if (margin >= 0.0)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
    adp_margin(w, margin);
}

GALLERY = { ROWS_HEAD, .card = &row_card, .decide = decide };
