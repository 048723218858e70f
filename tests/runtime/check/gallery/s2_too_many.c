/* SPDX-License-Identifier: MIT */
/* Declares 53 signals of its own, which beside the dictionary's twelve are one too many for a
 * configuration. */
#include "gallery.h"

static const adp_signal own[] = {
    { .name = "own_00", .unit = "requests" }, { .name = "own_01", .unit = "requests" },
    { .name = "own_02", .unit = "requests" }, { .name = "own_03", .unit = "requests" },
    { .name = "own_04", .unit = "requests" }, { .name = "own_05", .unit = "requests" },
    { .name = "own_06", .unit = "requests" }, { .name = "own_07", .unit = "requests" },
    { .name = "own_08", .unit = "requests" }, { .name = "own_09", .unit = "requests" },
    { .name = "own_10", .unit = "requests" }, { .name = "own_11", .unit = "requests" },
    { .name = "own_12", .unit = "requests" }, { .name = "own_13", .unit = "requests" },
    { .name = "own_14", .unit = "requests" }, { .name = "own_15", .unit = "requests" },
    { .name = "own_16", .unit = "requests" }, { .name = "own_17", .unit = "requests" },
    { .name = "own_18", .unit = "requests" }, { .name = "own_19", .unit = "requests" },
    { .name = "own_20", .unit = "requests" }, { .name = "own_21", .unit = "requests" },
    { .name = "own_22", .unit = "requests" }, { .name = "own_23", .unit = "requests" },
    { .name = "own_24", .unit = "requests" }, { .name = "own_25", .unit = "requests" },
    { .name = "own_26", .unit = "requests" }, { .name = "own_27", .unit = "requests" },
    { .name = "own_28", .unit = "requests" }, { .name = "own_29", .unit = "requests" },
    { .name = "own_30", .unit = "requests" }, { .name = "own_31", .unit = "requests" },
    { .name = "own_32", .unit = "requests" }, { .name = "own_33", .unit = "requests" },
    { .name = "own_34", .unit = "requests" }, { .name = "own_35", .unit = "requests" },
    { .name = "own_36", .unit = "requests" }, { .name = "own_37", .unit = "requests" },
    { .name = "own_38", .unit = "requests" }, { .name = "own_39", .unit = "requests" },
    { .name = "own_40", .unit = "requests" }, { .name = "own_41", .unit = "requests" },
    { .name = "own_42", .unit = "requests" }, { .name = "own_43", .unit = "requests" },
    { .name = "own_44", .unit = "requests" }, { .name = "own_45", .unit = "requests" },
    { .name = "own_46", .unit = "requests" }, { .name = "own_47", .unit = "requests" },
    { .name = "own_48", .unit = "requests" }, { .name = "own_49", .unit = "requests" },
    { .name = "own_50", .unit = "requests" }, { .name = "own_51", .unit = "requests" },
    { .name = "own_52", .unit = "requests" },
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

GALLERY = { GALLERY_HEAD,  .n_signals = ADP_COUNT(own), .signals = own,
            .card = &card, .threading = ADP_CONCURRENT, .decide = decide };
