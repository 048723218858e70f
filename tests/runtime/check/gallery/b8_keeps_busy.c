/* SPDX-License-Identifier: MIT */
/* Keeps the place of a request that came back with 429, as if it were to come again. */
#include "limits.h"

static void outcome(void *self, const adp_outcome *o)
{
    if (!(o->present & ADP_O_STATUS) || o->http_status != 429)
        limit_outcome(self, o);
}

GALLERY = { GALLERY_HEAD,    .card = &limit_card,    .create = limit_create,
            .destroy = free, .decide = limit_decide, .outcome = outcome };
