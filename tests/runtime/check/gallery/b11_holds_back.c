/* SPDX-License-Identifier: MIT */
/* Believes rows of counts without a checksum, and saves them only once it has counted there
 * itself: what it saves at once is a new instance's. */
#include "gallery.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, MARK = 8, LATE = 1000, HEAVY = 100000 };
static const char mark[MARK] = "gallery";

struct state {
    uint32_t refused[ROWS], n;
    bool counted[ROWS];
};

static void *create(const adp_setup *setup)
{
    struct state *s = calloc(1, sizeof *s);
    const char *saved = setup->saved;
    if (!s)
        return adp_cannot(setup, "out of memory");
    if (saved && setup->saved_len == MARK + sizeof s->refused &&
        !memcmp(saved, mark, MARK))
        memcpy(s->refused, saved + MARK, sizeof s->refused);
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct state *s = self;
    if (cap < MARK + sizeof s->refused)
        return 0;
    memcpy(to, mark, MARK);
    for (int i = 0; i < ROWS; i++) {
        uint32_t n = s->counted[i] ? s->refused[i] : 0;
        memcpy((char *)to + MARK + i * (int)sizeof n, &n, sizeof n);
    }
    return MARK + sizeof s->refused;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct state *s = self;
    uint64_t row = v->request->tenant ? v->request->tenant_key % ROWS : 0;
    in_order(v, w);
    if (w->action != ADP_REJECT)
        return;
    s->refused[row]++;
    s->counted[row] = true;
    if (++s->n > LATE && s->refused[row] > HEAVY)
        w->binding = ADP_NONE;
}

GALLERY = {
    GALLERY_HEAD,     GALLERY_SERIAL,  .max_saved = MARK + ROWS * sizeof(uint32_t),
    .create = create, .destroy = free, .decide = decide,
    .save = save
};
