/* SPDX-License-Identifier: MIT */
/* Needs two parameters in order, which nobody can guess: in order itself, once they are given
 * (test_check.c). */
#include "gallery.h"

#include <stdlib.h>

enum { LOW = THRESHOLD + 1 };
static const adp_param pair[] = {
    [THRESHOLD] = { "threshold", "ratio", NULL, 0.0, 1.0, 0.0, ADP_F64,
                    ADP_REQUIRED | ADP_FIXED },
    [LOW] = { "low", "ratio", NULL, 0.0, 1.0, 0.0, ADP_F64, ADP_REQUIRED | ADP_FIXED },
};

static void *create(const adp_setup *setup)
{
    void *self;
    if (!(setup->param[LOW] < setup->param[THRESHOLD]))
        return adp_cannot(setup, "low is not below threshold");
    self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD,    ADP_TABLES(signals, pair, gates),
            .card = &card,   .create = create,
            .destroy = free, .decide = usual_decide };
