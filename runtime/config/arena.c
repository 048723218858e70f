/* SPDX-License-Identifier: MIT */
/* An arena: chunks in a list, each filled from its front. */
#include "runtime/config/arena.h"

#include <stdalign.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 16 * 1024 };

struct adp_arena_chunk {
    struct adp_arena_chunk *next;
    size_t used, cap;
    alignas(max_align_t) unsigned char bytes[];
};

static struct adp_arena_chunk *chunk_create(size_t least)
{
    size_t cap = least > CHUNK_BYTES ? least : CHUNK_BYTES;
    struct adp_arena_chunk *chunk = calloc(1, sizeof *chunk + cap);
    if (chunk)
        chunk->cap = cap;
    return chunk;
}

void *adp_arena_alloc(struct adp_arena *arena, size_t size)
{
    size_t align = alignof(max_align_t);
    if (size > (size_t)-1 / 2)
        return NULL;
    size = (size + align - 1) / align * align;

    struct adp_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->cap - chunk->used < size) {
        chunk = chunk_create(size);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *piece = chunk->bytes + chunk->used;
    chunk->used += size;
    return piece;
}

void adp_arena_finish(struct adp_arena *arena)
{
    while (arena->chunks) {
        struct adp_arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}
