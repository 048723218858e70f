/* SPDX-License-Identifier: MIT */
/* Takes a ratio for a percentage. */
#include "gallery.h"

static const adp_signal percent[] = { { .name = "kv_pressure", .unit = "percent" } };

GALLERY = { GALLERY_HEAD, ADP_TABLES(percent, params, gates), .card = &card,
            .decide = usual_decide };
