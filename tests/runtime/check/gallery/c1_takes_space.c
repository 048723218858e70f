/* SPDX-License-Identifier: MIT */
/* Reserves all addresses of the process: no thread can be made beside it. */
#include "takes_space.h"

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .create = create, .destroy = destroy,
            .decide = usual_decide };
