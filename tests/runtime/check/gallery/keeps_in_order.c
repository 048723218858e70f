/* SPDX-License-Identifier: MIT */
/* State that is saved and restored as it should be: it passes. */
#include "keeps.h"

GALLERY = { GALLERY_HEAD,           GALLERY_SERIAL,  .max_saved = sizeof(struct state),
            .create = keeps_create, .destroy = free, .decide = keeps_decide,
            .save = keeps_save };
