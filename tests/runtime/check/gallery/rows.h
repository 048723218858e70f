/* SPDX-License-Identifier: MIT */
/* Reads its signal of each replica: the defects are in what a verdict says of itself where
 * there are rows. */
#ifndef ADP_TESTS_GALLERY_ROWS_H
#define ADP_TESTS_GALLERY_ROWS_H

#include "gallery.h"

UNUSED static const adp_signal row_signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};
UNUSED static const adp_card row_card = { .unit = "request", .margin_unit = "ratio" };

#define ROWS_HEAD                                                                        \
    GALLERY_HEAD, .signals = row_signals, .n_signals = ADP_COUNT(row_signals),           \
                  .params = params, .n_params = ADP_COUNT(params),                       \
                  .threading = ADP_CONCURRENT

/* The lowest of the replicas; where there is no row, the reading of all; or 0. */
static inline double lowest(const adp_view *v)
{
    double least = adp_has(v, KV) ? v->signal[KV] : 0.0;
    int any = 0;
    for (uint32_t r = 0; r < v->n_replicas; r++)
        if (v->replica_present[r] >> KV & 1 && (!any++ || v->replica[r] < least))
            least = v->replica[r];
    return least;
}

#endif
