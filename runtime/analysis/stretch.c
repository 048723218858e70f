/* SPDX-License-Identifier: MIT */
/* The longest stretch. Both ends of what was seen are kept, so that two pieces of a log
 * give what the whole would. */
#include "runtime/analysis/stretch.h"

static void keep_longest(struct adp_stretch *stretch, const struct adp_span *span)
{
    if (span->n > stretch->longest.n)
        stretch->longest = *span;
}

void adp_stretch_add(struct adp_stretch *stretch, bool held, double at)
{
    bool first = stretch->first.n == stretch->seen;
    stretch->seen++;
    if (!held) {
        stretch->last = (struct adp_span) { 0 };
        return;
    }
    if (!stretch->last.n)
        stretch->last.from = at;
    stretch->last.to = at;
    stretch->last.n++;
    if (first)
        stretch->first = stretch->last;
    keep_longest(stretch, &stretch->last);
}

void adp_stretch_merge(struct adp_stretch *into, const struct adp_stretch *next,
                       bool joined)
{
    if (!next->seen)
        return;
    if (!into->seen) {
        *into = *next;
        return;
    }
    bool whole = into->first.n == into->seen, next_whole = next->first.n == next->seen;
    struct adp_span last = next->last;
    keep_longest(into, &next->longest);
    if (joined && into->last.n && next->first.n) {
        struct adp_span across = { into->last.n + next->first.n, into->last.from,
                                   next->first.to };
        keep_longest(into, &across);
        if (whole)
            into->first = across;
        if (next_whole)
            last = across;
    }
    into->last = last;
    into->seen += next->seen;
    if (!joined)
        into->seen++; /* what lies between did not hold, for all we know */
}
