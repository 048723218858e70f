/* SPDX-License-Identifier: MIT */
/* Takes every outcome for one of its own, though it saves: with one of a ticket that its
 * forerunner set, more fly than it knows. */
#include "gallery.h"

#include <admitperf/state.h>

#include <stdlib.h>

enum { TICKET = 7, MANY = 3, LAYOUT = 1 };

static void *create(const adp_setup *setup)
{
    uint32_t *flying = calloc(1, sizeof *flying);
    if (!flying)
        return adp_cannot(setup, "out of memory");
    if (!adp_saved_read(setup->saved, setup->saved_len, LAYOUT, flying, sizeof *flying))
        *flying = 0;
    return flying;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    uint32_t *flying = self;
    in_order(v, w);
    w->ticket = TICKET;
    if (++*flying > MANY && w->action == ADP_REJECT)
        w->binding = ADP_NONE;
}

static void outcome(void *self, const adp_outcome *o)
{
    uint32_t *flying = self;
    (void)o;
    *flying -= *flying > 0;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    return adp_saved_write(to, cap, LAYOUT, self, sizeof(uint32_t));
}

GALLERY = {
    GALLERY_HEAD,       GALLERY_SERIAL,  .max_saved = ADP_SAVED_BYTES(sizeof(uint32_t)),
    .create = create,   .destroy = free, .decide = decide,
    .outcome = outcome, .save = save
};
