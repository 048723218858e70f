/* SPDX-License-Identifier: MIT */
/* What the policies of this folder have in common: each is sound but for the one defect
 * that its file is named after. */
#ifndef ADP_TESTS_BAD_H
#define ADP_TESTS_BAD_H

#include <admitperf/policy.h>

static inline void bad_decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

/* Later initialisers of the same field win, which is how a file puts its defect in. */
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
#define SOUND                                                                            \
    ADP_HEAD, .name = "bad", .version = "1.0", .threading = ADP_CONCURRENT,              \
              .decide = bad_decide

#endif
