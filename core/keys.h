/* SPDX-License-Identifier: MIT */
/* Keys of raw series, remembered: metrics that came with a request are written as
 * `"key":number, …`, and a host gives the same series with every request. Their keys are
 * made once; as long as a record's names and labels are those remembered, byte for byte,
 * only its values are spelled. */
#ifndef ADP_CORE_KEYS_H
#define ADP_CORE_KEYS_H

#include "core/line.h"

#include <stddef.h>
#include <stdint.h>

struct adp_keys;

/* ADP_ENOMEM. */
int adp_keys_create(struct adp_keys **ret);
void adp_keys_destroy(struct adp_keys *keys);

/* Appends what adp_metrics_write says of packed series (core/lane.h); of those that are not
 * whole, an empty object. Out of memory shows as to->broken. */
void adp_keys_write(struct adp_keys *keys, const uint8_t *series, size_t len,
                    struct adp_line *to);

#endif
