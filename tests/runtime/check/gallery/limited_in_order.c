/* SPDX-License-Identifier: MIT */
/* A limiter that gives back what it took: it passes. */
#include "limits.h"

GALLERY = { GALLERY_HEAD,    .card = &limit_card,    .create = limit_create,
            .destroy = free, .decide = limit_decide, .outcome = limit_outcome };
