/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: what it refuses as too large, and for want of a reading, is no matter
 * of load, and its margin goes on saying how far the load is off. */
#include "gallery.h"

static const adp_card margin_card = { .unit = "request",
                                      .metadata_assumed = "none",
                                      .margin_unit = "ratio" };

enum { TOO_LARGE = 20000 };

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const adp_request *r = v->request;
    (void)self;
    if (!adp_has(v, KV)) {
        adp_margin(w, -v->param[THRESHOLD] - 1.0);
        adp_reject(w, ADP_R_SIGNAL_STALE, KV);
        return;
    }
    adp_margin(w, v->signal[KV] - v->param[THRESHOLD]);
    if (r->present & ADP_PROMPT && r->prompt_tokens > TOO_LARGE)
        adp_reject(w, ADP_R_REQUEST_TOO_LARGE, ADP_NONE);
    else if (w->margin >= 0.0)
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD,
            .n_signals = ADP_COUNT(signals),
            .n_params = ADP_COUNT(params),
            .signals = signals,
            .params = params,
            .card = &margin_card,
            .threading = ADP_CONCURRENT,
            .decide = decide };
