/* SPDX-License-Identifier: MIT */
/* What the policies of the gallery have in common, so that each file holds one defect and
 * nothing else: one signal, one threshold, one gate, and a decide that is in order.
 *
 *     GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
 *
 * A file is named after the check that it must fail, and after its defect. */
#ifndef ADP_TESTS_GALLERY_H
#define ADP_TESTS_GALLERY_H

#include <admitperf/policy.h>

enum { KV };
enum { THRESHOLD };

#define GALLERY      const adp_policy admitperf_policy_v1
#define GALLERY_HEAD ADP_HEAD, .name = "gallery", .version = "1"
#define GALLERY_TABLES                                                                   \
    ADP_TABLES(signals, params, gates), .card = &card, .threading = ADP_CONCURRENT
/* One instance, one thread. */
#define GALLERY_SERIAL ADP_TABLES(signals, params, gates), .card = &card

#define UNUSED __attribute__((unused))

UNUSED static const adp_signal signals[] = {
    [KV] = { .name = "kv_pressure", .unit = "ratio" },
};
UNUSED static const adp_param params[] = {
    [THRESHOLD] = { .name = "threshold",
                    .unit = "ratio",
                    .lo = 0.0,
                    .hi = 1.0,
                    .dflt = 0.5,
                    .kind = ADP_F64 },
};
UNUSED static const adp_gate gates[] = {
    { .rule = 0, .signal = KV, .op = ADP_GE, .param = THRESHOLD },
};
UNUSED static const adp_card card = { .unit = "request", .metadata_assumed = "none" };

UNUSED static void in_order(const adp_view *v, adp_verdict *w)
{
    if (adp_ge(v, KV, THRESHOLD))
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

UNUSED static void usual_decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
}

#endif
