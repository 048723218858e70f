/* SPDX-License-Identifier: MIT */
/* An arena: memory that is given out piece by piece and freed whole. */
#ifndef ADP_RUNTIME_CONFIG_ARENA_H
#define ADP_RUNTIME_CONFIG_ARENA_H

#include <stddef.h>

struct adp_arena_chunk;

/* Zero-initialise; adp_arena_finish when done. */
struct adp_arena {
    struct adp_arena_chunk *chunks; /* newest first */
};

/* Zeroed memory, aligned for any type, until adp_arena_finish. NULL: out of memory. */
void *adp_arena_alloc(struct adp_arena *arena, size_t size);
void adp_arena_finish(struct adp_arena *arena);

#endif
