/* SPDX-License-Identifier: MIT */
/* Keys of raw series, remembered: metrics that came with a request are written as
 * `"key":number, …`, and a host gives the same series with every request. Their keys are
 * made once; as long as a record's names and labels are those remembered, byte for byte,
 * only its values are spelled. A lane that tells its shapes sends only values. */
#ifndef ADP_CORE_KEYS_H
#define ADP_CORE_KEYS_H

#include "core/line.h"
#include "core/region.h"

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

/* How many series there are; they are whole. */
uint32_t adp_keys_count(const uint8_t *series, size_t len);

/* From here on `shape` of a lane is these series. The two shapes told last of a lane are
 * remembered, one even, one odd. ADP_ESYNTAX: they are not whole, or two are one, and what
 * was told before stays; ADP_ENOMEM. */
int adp_keys_tell(struct adp_keys *keys, uint32_t lane, uint32_t shape,
                  const uint8_t *series, size_t len);
/* Whether that shape was told, of n series. */
bool adp_keys_knows(const struct adp_keys *keys, uint32_t lane, uint32_t shape, size_t n);
/* Appends what adp_keys_write says of series with these values: as many as the shape has,
 * which is known. Out of memory shows as to->broken. */
void adp_keys_write_values(const struct adp_keys *keys, uint32_t lane, uint32_t shape,
                           const double *value, struct adp_line *to);

#endif
