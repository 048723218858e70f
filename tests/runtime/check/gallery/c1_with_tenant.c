/* SPDX-License-Identifier: MIT */
/* Counts requests that have a tenant, where there is a reading, and what of those came back with a
 * plain ++, beside other threads. */
#include "loses.h"

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    if (adp_has(v, KV) && v->request->tenant) {
        loses_decide(self, v, w);
        return;
    }
    adp_margin(w, -1.0);
    adp_admit(w);
}

GALLERY = { GALLERY_HEAD,
            .signals = signals,
            .n_signals = ADP_COUNT(signals),
            .params = params,
            .n_params = ADP_COUNT(params),
            .card = &running_card,
            .threading = ADP_CONCURRENT,
            .create = loses_create,
            .destroy = free,
            .decide = decide,
            .outcome = loses_outcome };
