/* SPDX-License-Identifier: MIT */
/* Gives a ticket back only for the ends that it knows. */
#include "limits.h"

static void outcome(void *self, const adp_outcome *o)
{
    if (o->kind <= ADP_LOST)
        limit_outcome(self, o);
}

GALLERY = { GALLERY_HEAD,    .card = &limit_card,    .create = limit_create,
            .destroy = free, .decide = limit_decide, .outcome = outcome };
