/* SPDX-License-Identifier: MIT */
/* A table from 128-bit keys to small numbers.
 *
 * The keys are hashes already (or exact pairs of numbers), so two different things never
 * share one and nothing is compared but the key. Grows by doubling; entries are never
 * removed. */
#ifndef ADP_ANALYSIS_INDEX_H
#define ADP_ANALYSIS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_key {
    uint64_t high, low;
};

struct adp_index {
    struct adp_index_slot *slots; /* owned; a power of two of them */
    size_t cap, n;
};

void adp_index_finish(struct adp_index *index);

/* Where the number of `key` is kept, or NULL. Valid until the next adp_index_at. */
uint32_t *adp_index_find(const struct adp_index *index, struct adp_key key);
/* As find, but a key that is not there is entered; *ret_new says so and the caller then
 * sets its number. NULL: out of memory. */
uint32_t *adp_index_at(struct adp_index *index, struct adp_key key, bool *ret_new);

#endif
