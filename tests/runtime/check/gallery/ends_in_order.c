/* SPDX-License-Identifier: MIT */
/* In order: what its file needs once is made when it is loaded, and given back at the end by a
 * handler and a destructor. */
#include "gallery.h"

#include <stdlib.h>

static double *factor, *offset;

static void at_end(void)
{
    free(offset);
    offset = NULL;
}

__attribute__((constructor)) static void begin(void)
{
    factor = malloc(sizeof *factor);
    offset = malloc(sizeof *offset);
    if (factor)
        *factor = 2.0;
    if (offset)
        *offset = 0.0;
    atexit(at_end);
}

__attribute__((destructor)) static void end(void)
{
    free(factor);
    factor = NULL;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (factor && offset && adp_has(v, KV) &&
        *factor * v->signal[KV] + *offset >= 2.0 * v->param[THRESHOLD])
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    else
        adp_admit(w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
