/* SPDX-License-Identifier: MIT */
/* Exact nearest-rank percentiles of a set of numbers. */
#include "runtime/analysis/sample.h"

#include "core/error.h"
#include "runtime/analysis/grow.h"

#include <math.h>
#include <string.h>

void adp_sample_finish(struct adp_sample *sample)
{
    free(sample->values);
    *sample = (struct adp_sample) { 0 };
}

int adp_sample_add(struct adp_sample *sample, double value)
{
    double *values =
        adp_grow(sample->values, &sample->cap, sample->n + 1, sizeof *sample->values);
    if (!values)
        return ADP_ENOMEM;
    sample->values = values;
    values[sample->n++] = value;
    return 0;
}

int adp_sample_merge(struct adp_sample *into, struct adp_sample *from)
{
    if (!from->n)
        return 0;
    double *values =
        adp_grow(into->values, &into->cap, into->n + from->n, sizeof *values);
    if (!values)
        return ADP_ENOMEM;
    memcpy(values + into->n, from->values, from->n * sizeof *values);
    into->values = values;
    into->n += from->n;
    adp_sample_finish(from);
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void adp_sample_sort(struct adp_sample *sample)
{
    if (sample->n)
        qsort(sample->values, sample->n, sizeof *sample->values, ascending);
}

double adp_sample_rank(const struct adp_sample *sample, double p)
{
    if (!sample->n)
        return NAN;
    /* p * n may come out a rounding error above the whole number it is (0.95 has no exact
     * binary form): take off less than any real fraction before rounding up. */
    double exact = p * (double)sample->n;
    double rank = ceil(exact - exact * 1e-12);
    size_t i = rank < 1 ? 0 : (size_t)rank - 1;
    return sample->values[i < sample->n ? i : sample->n - 1];
}

double adp_sample_min(const struct adp_sample *sample)
{
    return sample->n ? sample->values[0] : NAN;
}

double adp_sample_max(const struct adp_sample *sample)
{
    return sample->n ? sample->values[sample->n - 1] : NAN;
}
