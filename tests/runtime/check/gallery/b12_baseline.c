/* SPDX-License-Identifier: MIT */
/* Calls itself a baseline, and refuses. */
#include "gallery.h"

static const adp_card baseline = { .flags = ADP_BASELINE };

GALLERY = { GALLERY_HEAD,
            .n_signals = 1,
            .signals = signals,
            .n_params = 1,
            .params = params,
            .card = &baseline,
            .threading = ADP_CONCURRENT,
            .decide = usual_decide };
