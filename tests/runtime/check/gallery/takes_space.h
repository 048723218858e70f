/* SPDX-License-Identifier: MIT */
/* Each instance reserves the addresses that there are, down to small pieces: they cost
 * nothing, and nobody else in the process gets any. */
#ifndef ADP_TESTS_GALLERY_TAKES_SPACE_H
#define ADP_TESTS_GALLERY_TAKES_SPACE_H

#include "gallery.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MOST_BYTES  ((size_t)1 << 46)
#define LEAST_BYTES ((size_t)4 << 20)

struct space {
    void *at[64];
    size_t len[64];
    int n;
};

static void *create(const adp_setup *setup)
{
    struct space *s = calloc(1, sizeof *s);
    if (!s)
        return adp_cannot(setup, "out of memory");
    for (size_t len = MOST_BYTES; len >= LEAST_BYTES && s->n < 64;) {
        void *at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
        if (at == MAP_FAILED) {
            len >>= 1;
            continue;
        }
        s->at[s->n] = at;
        s->len[s->n++] = len;
    }
    return s;
}

static void destroy(void *self)
{
    struct space *s = self;
    for (int i = 0; i < s->n; i++)
        munmap(s->at[i], s->len[i]);
    free(s);
}

#endif
