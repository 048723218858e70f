/* SPDX-License-Identifier: MIT */
/* Exact nearest-rank percentiles of a set of numbers.
 *
 * Add in any order, merge, finish, ask. The numbers are kept, all of them: that is what
 * exact costs. Keeping them elsewhere than in memory is a change behind this header. */
#ifndef ADP_ANALYSIS_SAMPLE_H
#define ADP_ANALYSIS_SAMPLE_H

#include <stddef.h>

struct adp_sample {
    double *values; /* owned */
    size_t n, cap;
};

void adp_sample_finish(struct adp_sample *sample);
/* 0 or ADP_ENOMEM. `value` is finite. */
int adp_sample_add(struct adp_sample *sample, double value);
/* Moves all of `from` into `into`. 0 or ADP_ENOMEM, nothing moved. */
int adp_sample_merge(struct adp_sample *into, struct adp_sample *from);
/* Puts the values in order, once, before the questions below. */
void adp_sample_sort(struct adp_sample *sample);
/* The smallest value that at least the share `p` in (0, 1] of all values do not exceed:
 * the ceil(p * n)-th, counted from 1. NaN when there is none. */
double adp_sample_rank(const struct adp_sample *sample, double p);
/* NaN when there is none. */
double adp_sample_min(const struct adp_sample *sample);
double adp_sample_max(const struct adp_sample *sample);

#endif
