/* SPDX-License-Identifier: MIT */
/* The longest stretch of decisions, one after another, on which something held. */
#ifndef ADP_ANALYSIS_STRETCH_H
#define ADP_ANALYSIS_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

/* So many decisions, from the time of the first to that of the last (NaN: not known). */
struct adp_span {
    uint64_t n;
    double from, to;
};

/* Zeroed, it has seen none. */
struct adp_stretch {
    uint64_t seen;
    struct adp_span first; /* the stretch that the first decision seen begins */
    struct adp_span
        last; /* … and that the last one ends; both n 0 when it did not hold */
    struct adp_span longest;
};

void adp_stretch_add(struct adp_stretch *stretch, bool held, double at);
/* `next` follows; `joined` false: something may lie between. */
void adp_stretch_merge(struct adp_stretch *into, const struct adp_stretch *next,
                       bool joined);

#endif
