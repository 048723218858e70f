/* SPDX-License-Identifier: MIT */
/* Runs on no host of this minor. */
#include "gallery.h"

GALLERY = {
    .magic = ADP_MAGIC,
    .size = sizeof(adp_policy),
    .abi_minor = 99,
    .min_host_minor = 99,
    .signal_size = sizeof(adp_signal),
    .param_size = sizeof(adp_param),
    .gate_size = sizeof(adp_gate),
    .card_size = sizeof(adp_card),
    .name = "gallery",
    GALLERY_TABLES,
    .decide = usual_decide,
};
