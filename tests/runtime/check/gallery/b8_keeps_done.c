/* SPDX-License-Identifier: MIT */
/* A limiter that never counts down: once twenty were admitted, nobody is. */
#include "limits.h"

static void outcome(void *self, const adp_outcome *o)
{
    (void)self;
    (void)o;
}

GALLERY = { GALLERY_HEAD,    .card = &limit_card,    .create = limit_create,
            .destroy = free, .decide = limit_decide, .outcome = outcome };
