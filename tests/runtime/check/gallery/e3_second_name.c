/* SPDX-License-Identifier: MIT */
/* A function that any library of the process may be bound to. */
#include "gallery.h"

extern __attribute__((visibility("default"))) double clamp_rate(double rate);

double clamp_rate(double rate)
{
    return rate > 1.0 ? 1.0 : rate;
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
