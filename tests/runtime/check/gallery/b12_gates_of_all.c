/* SPDX-License-Identifier: MIT */
/* Decides by the replicas where there are some, and declares the gate of those times when
 * there are none. */
#include "rows.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (v->n_replicas ? lowest(v) >= v->param[THRESHOLD] : adp_ge(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { ROWS_HEAD, .gates = gates, .n_gates = ADP_COUNT(gates), .card = &card,
            .decide = decide };
