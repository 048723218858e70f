/* SPDX-License-Identifier: MIT */
/* A policy whose Retry-After is jittered by a number that create takes from somewhere: the
 * defects of the gallery's B2 are in where from. */
#ifndef ADP_TESTS_GALLERY_CHANCE_H
#define ADP_TESTS_GALLERY_CHANCE_H

#include "gallery.h"

#include <admitperf/state.h>
#include <stdlib.h>

static uint64_t chance(void);

UNUSED static void *chance_create(const adp_setup *setup)
{
    uint64_t *self = malloc(sizeof *self);
    if (!self)
        return adp_cannot(setup, "out of memory");
    *self = adp_mix64(chance());
    return self;
}

UNUSED static void chance_decide(void *self, const adp_view *v, adp_verdict *w)
{
    const uint64_t *number = self;
    double jitter = (double)(adp_mix64(*number ^ v->now_ns) % 100);
    if (adp_ge(v, KV, THRESHOLD))
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 100.0 + jitter);
    else
        adp_admit(w);
}

#define CHANCE                                                                           \
    GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = chance_create, .destroy = free,  \
                .decide = chance_decide }

#endif
