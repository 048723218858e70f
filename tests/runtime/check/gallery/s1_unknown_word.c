/* SPDX-License-Identifier: MIT */
/* A card in words of its own. */
#include "gallery.h"

static const adp_card other = { .unit = "requests" };

GALLERY = { GALLERY_HEAD, ADP_TABLES(signals, params, gates), .card = &other,
            .decide = usual_decide };
