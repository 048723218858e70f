/* SPDX-License-Identifier: MIT */
/* States how far there is to go, with the wrong sign. */
#include "gallery.h"

static const adp_card margin_card = { .margin_unit = "ratio" };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (!adp_has(v, KV))
        return;
    w->margin = v->param[THRESHOLD] - v->signal[KV];
    w->set |= ADP_SET_MARGIN;
}

GALLERY = {
    GALLERY_HEAD,     .n_signals = 1,       .signals = signals,          .n_params = 1,
    .params = params, .card = &margin_card, .threading = ADP_CONCURRENT, .decide = decide
};
