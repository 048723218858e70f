/* SPDX-License-Identifier: MIT */
/* Declares itself fit for threads, and puts a reading aside in a static variable. */
#include "gallery.h"

static volatile double scratch;
static volatile uint32_t spin;

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    scratch = adp_has(v, KV) ? v->signal[KV] : -1.0;
    for (uint32_t i = 0; i < 1000; i++) /* some work */
        spin = i;
    if (scratch >= v->param[THRESHOLD])
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
