/* SPDX-License-Identifier: MIT */
/* Keeps the place of a request that took more than a minute, as if it were under way. */
#include "limits.h"

static void outcome(void *self, const adp_outcome *o)
{
    if (!(o->present & ADP_O_TOTAL) || o->total_ms < 60000.0)
        limit_outcome(self, o);
}

GALLERY = { GALLERY_HEAD,    .card = &limit_card,    .create = limit_create,
            .destroy = free, .decide = limit_decide, .outcome = outcome };
