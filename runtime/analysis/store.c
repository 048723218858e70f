/* SPDX-License-Identifier: MIT */
/* Things that are too many to be kept in memory.
 *
 * A pile is a list of blocks. The last one is open; when it is full it is counted, and
 * written to the file if what is counted is more than there is memory for. Blocks grow
 * with their pile, so that a small pile costs little and a large one is few blocks. A
 * block's place in the file is never used again: the file is as long as what did not fit. */
#include "runtime/analysis/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK_LEAST = 512, BLOCK_MOST = 32 << 10, SHARE = 16 /* of its pile */ };

struct adp_store {
    size_t memory;
    /* Sums only, read by whoever adds next: relaxed suffices. */
    atomic_size_t held;
    atomic_uint_fast64_t length; /* of the file; who adds to it owns the place */
    atomic_uint owners;
    pthread_mutex_t lock; /* guards: */
    int fd;               /* -1: none yet */
    int fault;            /* errno of the first failure */
    char folder[256];
};

struct adp_store *adp_store_create(size_t memory)
{
    struct adp_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    const char *folder = getenv("TMPDIR");
    snprintf(store->folder, sizeof store->folder, "%s",
             folder && *folder ? folder : "/tmp");
    if (pthread_mutex_init(&store->lock, NULL)) {
        free(store);
        return NULL;
    }
    store->memory = memory;
    store->fd = -1;
    atomic_init(&store->owners, 1);
    return store;
}

struct adp_store *adp_store_share(struct adp_store *store)
{
    atomic_fetch_add(&store->owners, 1);
    return store;
}

void adp_store_release(struct adp_store *store)
{
    if (!store || atomic_fetch_sub(&store->owners, 1) > 1)
        return;
    if (store->fd >= 0)
        close(store->fd);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

uint64_t adp_store_spilled(struct adp_store *store)
{
    return atomic_load_explicit(&store->length, memory_order_relaxed);
}

/* ---- the file ------------------------------------------------------------------------ */

static int fail(struct adp_store *store, int code)
{
    pthread_mutex_lock(&store->lock);
    if (!store->fault)
        store->fault = code;
    pthread_mutex_unlock(&store->lock);
    return ADP_EIO;
}

int adp_store_fault(struct adp_store *store, struct adp_error *err)
{
    pthread_mutex_lock(&store->lock);
    int code = store->fault;
    pthread_mutex_unlock(&store->lock);
    return adp_error_at(err, ADP_EIO, store->folder, 0, 0,
                        "what does not fit in memory cannot be kept here: %s; set TMPDIR "
                        "to a folder with room",
                        strerror(code));
}

/* Not every file system knows O_TMPFILE. */
static int open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    char path[300];
    snprintf(path, sizeof path, "%s/admitperf-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* The file, opened when first needed; -1: it cannot be. */
static int file_of(struct adp_store *store)
{
    pthread_mutex_lock(&store->lock);
    if (store->fd < 0 && !store->fault) {
        store->fd = open_nameless(store->folder);
        if (store->fd < 0)
            store->fault = errno;
    }
    int fd = store->fd;
    pthread_mutex_unlock(&store->lock);
    return fd;
}

static int write_all(int fd, const char *from, size_t len, int64_t at)
{
    while (len) {
        ssize_t n = pwrite(fd, from, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : ENOSPC;
        from += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int read_all(int fd, char *to, size_t len, int64_t at)
{
    while (len) {
        ssize_t n = pread(fd, to, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        to += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int spill(struct adp_store *store, struct adp_block *block, uint32_t size)
{
    size_t len = (size_t)block->n * size;
    int fd = file_of(store);
    if (fd < 0)
        return ADP_EIO;
    int64_t at =
        (int64_t)atomic_fetch_add_explicit(&store->length, len, memory_order_relaxed);
    int code = write_all(fd, block->items, len, at);
    if (code)
        return fail(store, code);
    free(block->items);
    block->items = NULL;
    block->at = at;
    return 0;
}

/* ---- piles --------------------------------------------------------------------------- */

/* Counts a block to which nothing will be added; what is too much goes to the file. */
static int count(struct adp_store *store, struct adp_block *block, uint32_t size)
{
    size_t len = (size_t)block->cap * size;
    if (block->counted || !block->items)
        return 0;
    size_t before = atomic_fetch_add_explicit(&store->held, len, memory_order_relaxed);
    block->counted = true;
    if (before + len <= store->memory)
        return 0;
    int e = spill(store, block, size);
    if (!e) {
        atomic_fetch_sub_explicit(&store->held, len, memory_order_relaxed);
        block->counted = false;
    }
    return e;
}

static void free_block(struct adp_store *store, struct adp_block *block, uint32_t size)
{
    if (block->counted)
        atomic_fetch_sub_explicit(&store->held, (size_t)block->cap * size,
                                  memory_order_relaxed);
    free(block->items);
    free(block);
}

void adp_pile_finish(struct adp_store *store, struct adp_pile *pile, uint32_t size)
{
    for (struct adp_block *block = pile->first, *next; block; block = next) {
        next = block->next;
        free_block(store, block, size);
    }
    *pile = (struct adp_pile) { 0 };
}

int adp_pile_grow(struct adp_store *store, struct adp_pile *pile, uint32_t size,
                  void **ret)
{
    size_t bytes = (size_t)pile->n * size / SHARE;
    bytes = bytes < BLOCK_LEAST ? BLOCK_LEAST : bytes > BLOCK_MOST ? BLOCK_MOST : bytes;
    int e = pile->last ? count(store, pile->last, size) : 0;
    if (e)
        return e;
    struct adp_block *block = calloc(1, sizeof *block);
    uint32_t cap = (uint32_t)bytes / size;
    void *items = block ? malloc((size_t)cap * size) : NULL;
    if (!items) {
        free(block);
        return ADP_ENOMEM;
    }
    *block = (struct adp_block) { .items = items, .cap = cap, .n = 1 };
    if (pile->last)
        pile->last->next = block;
    else
        pile->first = block;
    pile->last = block;
    pile->n++;
    *ret = items;
    return 0;
}

/* The block is of another store: into memory with it. */
static int fetch(struct adp_store *from, struct adp_block *block, uint32_t size)
{
    size_t len = (size_t)block->n * size;
    if (block->counted)
        atomic_fetch_sub_explicit(&from->held, (size_t)block->cap * size,
                                  memory_order_relaxed);
    block->counted = false;
    if (block->items)
        return 0;
    block->items = malloc((size_t)block->cap * size);
    if (!block->items)
        return ADP_ENOMEM;
    int code = read_all(from->fd, block->items, len, block->at);
    return code ? fail(from, code) : 0;
}

int adp_pile_merge(struct adp_store *store, struct adp_pile *into,
                   struct adp_store *other, struct adp_pile *from, uint32_t size,
                   uint32_t origin)
{
    if (!from->first)
        return 0;
    int e = into->last ? count(store, into->last, size) : 0;
    for (struct adp_block *block = from->first; block && !e; block = block->next) {
        block->origin += origin;
        if (store != other)
            e = fetch(other, block, size);
        if (!e)
            e = count(store, block, size);
    }
    if (into->last)
        into->last->next = from->first;
    else
        into->first = from->first;
    into->last = from->last;
    into->n += from->n;
    *from = (struct adp_pile) { 0 };
    return e;
}

/* ---- walking ------------------------------------------------------------------------- */

int adp_walk_next(struct adp_walk *walk)
{
    const struct adp_block *block = walk->next;
    if (!block)
        return 0;
    walk->next = block->next;
    walk->items = block->items;
    walk->n = block->n;
    walk->origin = block->origin;
    if (block->items)
        return 1;
    if (!walk->buffer)
        walk->buffer = malloc(BLOCK_MOST);
    if (!walk->buffer)
        return ADP_ENOMEM;
    walk->items = walk->buffer;
    int code =
        read_all(walk->store->fd, walk->buffer, (size_t)block->n * walk->size, block->at);
    return code ? fail(walk->store, code) : 1;
}

void adp_walk_finish(struct adp_walk *walk)
{
    free(walk->buffer);
    *walk = (struct adp_walk) { 0 };
}
