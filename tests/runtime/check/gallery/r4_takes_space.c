/* SPDX-License-Identifier: MIT */
/* Reserves all addresses of the process: a host that has it cannot start. */
#include "takes_space.h"

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = usual_decide };
