/* SPDX-License-Identifier: MIT */
/* Has room for eight replicas. */
#include "gallery.h"

#include <stdlib.h>

static const adp_signal by_replica[] = {
    { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (v->n_replicas > 8)
        abort();
}

GALLERY = { GALLERY_HEAD, ADP_TABLES(by_replica, params, gates), .card = &card,
            .threading = ADP_CONCURRENT, .decide = decide };
