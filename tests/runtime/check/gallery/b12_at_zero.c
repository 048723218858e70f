/* SPDX-License-Identifier: MIT */
/* Refuses above its threshold alone, and says at it that it does. */
#include "gallery.h"

static const adp_card by_margin = { .margin_unit = "ratio" };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    adp_admit(w);
    if (!adp_has(v, KV))
        return;
    if (adp_gt(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    adp_margin(w, v->signal[KV] - v->param[THRESHOLD]);
}

GALLERY = {
    GALLERY_HEAD,     .n_signals = 1,     .signals = signals,          .n_params = 1,
    .params = params, .card = &by_margin, .threading = ADP_CONCURRENT, .decide = decide
};
