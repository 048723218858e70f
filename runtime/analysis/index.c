/* SPDX-License-Identifier: MIT */
/* A table from 128-bit keys to small numbers: open addressing, linear probes, at most
 * three quarters full. */
#include "runtime/analysis/index.h"

#include <stdlib.h>

struct adp_index_slot {
    struct adp_key key;
    uint32_t number;
    bool used;
};

void adp_index_finish(struct adp_index *index)
{
    free(index->slots);
    *index = (struct adp_index) { 0 };
}

/* Keys may be plain pairs of small numbers: mix them before taking low bits. */
static size_t home(struct adp_key key, size_t cap)
{
    uint64_t h = (key.high ^ (key.low * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return (size_t)(h ^ (h >> 32)) & (cap - 1);
}

static struct adp_index_slot *probe(const struct adp_index *index, struct adp_key key)
{
    for (size_t i = home(key, index->cap);; i = (i + 1) & (index->cap - 1)) {
        struct adp_index_slot *slot = &index->slots[i];
        if (!slot->used || (slot->key.high == key.high && slot->key.low == key.low))
            return slot;
    }
}

uint32_t *adp_index_find(const struct adp_index *index, struct adp_key key)
{
    if (!index->n)
        return NULL;
    struct adp_index_slot *slot = probe(index, key);
    return slot->used ? &slot->number : NULL;
}

static bool enlarge(struct adp_index *index)
{
    struct adp_index bigger = { NULL, index->cap ? 2 * index->cap : 16, index->n };
    bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < index->cap; i++)
        if (index->slots[i].used)
            *probe(&bigger, index->slots[i].key) = index->slots[i];
    free(index->slots);
    *index = bigger;
    return true;
}

uint32_t *adp_index_at(struct adp_index *index, struct adp_key key, bool *ret_new)
{
    if (4 * (index->n + 1) > 3 * index->cap && !enlarge(index))
        return NULL;
    struct adp_index_slot *slot = probe(index, key);
    *ret_new = !slot->used;
    if (!slot->used) {
        slot->used = true;
        slot->key = key;
        index->n++;
    }
    return &slot->number;
}
