/* SPDX-License-Identifier: MIT */
/* A parameter that may be 0, says its table, and may not, says its code. */
#include "gallery.h"

#include <stdlib.h>

static const adp_param windows[] = {
    [THRESHOLD] = { .name = "threshold",
                    .unit = "ratio",
                    .lo = 0.0,
                    .hi = 1.0,
                    .dflt = 0.5,
                    .kind = ADP_F64 },
    { .name = "window",
      .unit = "requests",
      .lo = 0.0,
      .hi = 100.0,
      .dflt = 10.0,
      .kind = ADP_I64 },
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    uint64_t window = (uint64_t)v->param[1];
    (void)self;
    if (!window) /* as an integer division would, on every machine */
        abort();
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, ADP_TABLES(signals, windows, gates), .card = &card,
            .threading = ADP_CONCURRENT, .decide = decide };
