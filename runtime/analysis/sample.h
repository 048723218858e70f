/* SPDX-License-Identifier: MIT */
/* Exact nearest-rank percentiles of a set of numbers of any size.
 *
 * Add in any order, merge, ask. All numbers are kept, in the store: that is what exact
 * costs. They are not sorted: a rank is found by counting how many begin with which bits,
 * sixteen at a time. */
#ifndef ADP_ANALYSIS_SAMPLE_H
#define ADP_ANALYSIS_SAMPLE_H

#include "runtime/analysis/store.h"

enum { ADP_SAMPLE_RANKS = 16 }; /* that can be asked for at once */

/* Zeroed, it is empty. */
struct adp_sample {
    struct adp_pile pile; /* of doubles */
    double min, max;      /* of none: not set */
};

void adp_sample_finish(struct adp_store *store, struct adp_sample *sample);

/* `value` is finite. 0, ADP_ENOMEM, ADP_EIO. */
static inline int adp_sample_add(struct adp_store *store, struct adp_sample *sample,
                                 double value)
{
    if (!sample->pile.n || value < sample->min)
        sample->min = value;
    if (!sample->pile.n || value > sample->max)
        sample->max = value;
    return adp_pile_add(store, &sample->pile, sizeof value, &value);
}

/* Moves all of `from`, which is of `other`, into `into`. As adp_pile_merge. */
int adp_sample_merge(struct adp_store *store, struct adp_sample *into,
                     struct adp_store *other, struct adp_sample *from);

/* For each of the `n` shares p in (0, 1]: the smallest value that at least that share of
 * all values do not exceed, the ceil(p * count)-th, counted from 1. NaN when there is
 * none. n <= ADP_SAMPLE_RANKS. 0, ADP_ENOMEM, ADP_EIO. */
int adp_sample_ranks(struct adp_store *store, const struct adp_sample *sample,
                     const double *shares, size_t n, double *ret);
/* NaN when there is none. */
double adp_sample_min(const struct adp_sample *sample);
double adp_sample_max(const struct adp_sample *sample);

#endif
