/* SPDX-License-Identifier: MIT */
/* Things that are too many to be kept in memory.
 *
 * A pile is a bag of items of one size, in the order in which they came; a store is what
 * the piles of one tally share: so much memory, and a file without a name in $TMPDIR for
 * the rest. What fits is never written. A log of any size is read in the same memory.
 *
 * Piles are added to and merged by one thread each; several threads may work on piles of
 * one store. A pile can be walked by several threads once nothing is added any more. */
#ifndef ADP_ANALYSIS_STORE_H
#define ADP_ANALYSIS_STORE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What full blocks of all piles may take; open ones come to it (BLOCK_MOST each). */
#define ADP_STORE_MEMORY ((size_t)20 << 20)

struct adp_store; /* opaque */

/* `memory`: bytes. NULL: out of memory. */
struct adp_store *adp_store_create(size_t memory);
/* One more owner. */
struct adp_store *adp_store_share(struct adp_store *store);
/* Piles go first. */
void adp_store_release(struct adp_store *store);
/* Bytes that did not fit. */
uint64_t adp_store_spilled(struct adp_store *store);
/* After ADP_EIO: what went wrong and where, for people. */
int adp_store_fault(struct adp_store *store, struct adp_error *err);

struct adp_block {
    struct adp_block *next;
    void *items;     /* owned; NULL: in the file */
    int64_t at;      /* in the file */
    uint32_t n, cap; /* items */
    uint32_t origin; /* whoever merges says which pile it came from; 0: this one */
    bool counted;    /* full, and part of what the store holds */
};

struct adp_pile {
    struct adp_block *first, *last; /* owned */
    uint64_t n;                     /* items */
};

void adp_pile_finish(struct adp_store *store, struct adp_pile *pile, uint32_t size);
/* Room for a new item of `size` bytes, which is always the same for one pile: *ret, to be
 * written at once. 0, ADP_ENOMEM, ADP_EIO. */
int adp_pile_grow(struct adp_store *store, struct adp_pile *pile, uint32_t size,
                  void **ret);
/* Moves all of `from`, which is of `other`, behind `into`; the origin of each block becomes
 * `origin` more. 0, ADP_ENOMEM, ADP_EIO: both are then fit for finishing only. */
int adp_pile_merge(struct adp_store *store, struct adp_pile *into,
                   struct adp_store *other, struct adp_pile *from, uint32_t size,
                   uint32_t origin);

static inline int adp_pile_add(struct adp_store *store, struct adp_pile *pile,
                               uint32_t size, const void *item)
{
    struct adp_block *last = pile->last;
    void *to;
    if (last && last->n < last->cap && last->items && !last->counted) {
        to = (char *)last->items + (size_t)last->n++ * size;
        pile->n++;
    } else {
        int e = adp_pile_grow(store, pile, size, &to);
        if (e)
            return e;
    }
    memcpy(to, item, size);
    return 0;
}

/* Walks a pile, block by block:
 *
 *     struct adp_walk walk = adp_walk_of(store, &pile, size);
 *     while ((e = adp_walk_next(&walk)) > 0)
 *         … walk.items[0 … walk.n) …
 *     adp_walk_finish(&walk); */
struct adp_walk {
    struct adp_store *store;
    const struct adp_block *next;
    void *buffer; /* owned: what was in the file */
    uint32_t size;

    const void *items; /* borrowed until the next call */
    uint32_t n, origin;
};

static inline struct adp_walk adp_walk_of(struct adp_store *store,
                                          const struct adp_pile *pile, uint32_t size)
{
    return (struct adp_walk) { .store = store, .next = pile->first, .size = size };
}
/* 1: there is a block; 0: the end; ADP_ENOMEM, ADP_EIO. */
int adp_walk_next(struct adp_walk *walk);
void adp_walk_finish(struct adp_walk *walk);

#endif
