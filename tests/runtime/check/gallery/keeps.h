/* SPDX-License-Identifier: MIT */
/* A policy that counts the requests it refused and, from the hundredth on, names no slot
 * any more: state that shows. The defects of the gallery's B11 are in how it is saved. */
#ifndef ADP_TESTS_GALLERY_KEEPS_H
#define ADP_TESTS_GALLERY_KEEPS_H

#include "gallery.h"

#include <stdlib.h>
#include <string.h>

#define KEEPS_MAGIC UINT64_C(0x736c6c7566657267)

struct state {
    uint64_t magic, refused;
    uint64_t check; /* over both */
};

static inline uint64_t keeps_sum(const struct state *s)
{
    return (s->magic ^ s->refused) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static inline struct state *keeps_new(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    return s ? s : adp_cannot(setup, "out of memory");
}

static inline void *keeps_create(const adp_setup *setup)
{
    struct state *s = keeps_new(setup), saved;
    if (s && setup->saved && setup->saved_len == sizeof saved) {
        memcpy(&saved, setup->saved, sizeof saved);
        if (saved.magic == KEEPS_MAGIC && saved.check == keeps_sum(&saved))
            *s = saved;
    }
    return s;
}

static inline void keeps_decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    in_order(v, w);
    if (w->action == ADP_REJECT && ++s->refused >= 100)
        w->binding = ADP_NONE;
}

static inline uint64_t keeps_save(const void *self, void *to, uint64_t cap)
{
    struct state s = *(const struct state *)self;
    if (cap < sizeof s)
        return 0;
    s.magic = KEEPS_MAGIC;
    s.check = keeps_sum(&s);
    memcpy(to, &s, sizeof s);
    return sizeof s;
}

#endif
