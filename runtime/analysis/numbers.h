/* SPDX-License-Identifier: MIT */
/* Exact nearest-rank percentiles of a set of numbers of any size.
 *
 * Add in any order, merge, ask. All numbers are kept, in the store: that is what exact
 * costs. They are not sorted: a rank is found by counting how many begin with which bits,
 * sixteen at a time. */
#ifndef ADP_ANALYSIS_NUMBERS_H
#define ADP_ANALYSIS_NUMBERS_H

#include "runtime/analysis/store.h"

enum { ADP_NUMBERS_RANKS = 16 }; /* that can be asked for at once */

/* Zeroed, it is empty. */
struct adp_numbers {
    struct adp_pile pile; /* of doubles */
    double min, max;      /* of none: not set */
};

void adp_numbers_finish(struct adp_store *store, struct adp_numbers *sample);

/* `value` is finite. 0, ADP_ENOMEM, ADP_EIO. */
static inline int adp_numbers_add(struct adp_store *store, struct adp_numbers *sample,
                                  double value)
{
    if (!sample->pile.n || value < sample->min)
        sample->min = value;
    if (!sample->pile.n || value > sample->max)
        sample->max = value;
    return adp_pile_add(store, &sample->pile, sizeof value, &value);
}

/* Moves all of `from`, which is of `other`, into `into`. As adp_pile_merge. */
int adp_numbers_merge(struct adp_store *store, struct adp_numbers *into,
                      struct adp_store *other, struct adp_numbers *from);

/* For each of the `n` shares p in (0, 1]: the smallest value that at least that share of
 * all values do not exceed, the ceil(p * count)-th, counted from 1. NaN when there is
 * none. n <= ADP_NUMBERS_RANKS. 0, ADP_ENOMEM, ADP_EIO. */
int adp_numbers_ranks(struct adp_store *store, const struct adp_numbers *sample,
                      const double *shares, size_t n, double *ret);
/* How many values do not exceed each of the `n` points: one walk. 0, ADP_ENOMEM, ADP_EIO. */
int adp_numbers_within(struct adp_store *store, const struct adp_numbers *sample,
                       const double *points, size_t n, uint64_t *ret);
/* NaN when there is none. */
double adp_numbers_min(const struct adp_numbers *sample);
double adp_numbers_max(const struct adp_numbers *sample);

#endif
