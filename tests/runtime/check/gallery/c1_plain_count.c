/* SPDX-License-Identifier: MIT */
/* Counts what came back with a plain ++, beside other threads. */
#include "loses.h"

GALLERY = { GALLERY_HEAD,
            .card = &running_card,
            .threading = ADP_CONCURRENT,
            .create = loses_create,
            .destroy = free,
            .decide = loses_decide,
            .outcome = loses_outcome };
