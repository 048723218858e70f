/* SPDX-License-Identifier: MIT */
/* Exact nearest-rank percentiles.
 *
 * The bits of a double, turned so that they rise as the number does, are a number of four
 * digits of sixteen bits. One pass over the values counts first digits, and so tells the
 * first digit of the value of a rank and how many values before it begin lower; the next
 * pass counts second digits of those that begin with the first, and so on: four passes at
 * most, whatever the values are. A few values are sorted instead. */
#include "runtime/analysis/numbers.h"

#include <math.h>
#include <stdlib.h>

enum { DIGIT = 16, DIGITS = 1 << DIGIT, PASSES = 64 / DIGIT, FEW = 4096 };

void adp_numbers_finish(struct adp_store *store, struct adp_numbers *sample)
{
    adp_pile_finish(store, &sample->pile, sizeof(double));
}

int adp_numbers_merge(struct adp_store *store, struct adp_numbers *into,
                      struct adp_store *other, struct adp_numbers *from)
{
    if (!from->pile.n)
        return 0;
    if (!into->pile.n || from->min < into->min)
        into->min = from->min;
    if (!into->pile.n || from->max > into->max)
        into->max = from->max;
    return adp_pile_merge(store, &into->pile, other, &from->pile, sizeof(double), 0);
}

double adp_numbers_min(const struct adp_numbers *sample)
{
    return sample->pile.n ? sample->min : NAN;
}

double adp_numbers_max(const struct adp_numbers *sample)
{
    return sample->pile.n ? sample->max : NAN;
}

/* Of the share `p` of n values, counted from 0. p * n may come out a rounding error above
 * the whole number it is (0.95 has no exact binary form): take off less than any real
 * fraction before rounding up. */
static uint64_t place(double p, uint64_t n)
{
    double exact = p * (double)n;
    double rank = ceil(exact - exact * 1e-12);
    uint64_t i = rank < 1 ? 0 : (uint64_t)rank - 1;
    return i < n ? i : n - 1;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A bit pattern that orders as the numbers do; 0 and -0 are one. */
static uint64_t ordered(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double number(uint64_t bits)
{
    double value;
    bits = bits >> 63 ? bits & ~((uint64_t)1 << 63) : ~bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int sort_few(struct adp_store *store, const struct adp_numbers *sample,
                    const double *shares, size_t n, double *ret)
{
    double few[FEW];
    size_t have = 0;
    int e;
    struct adp_walk walk = adp_walk_of(store, &sample->pile, sizeof(double));
    while ((e = adp_walk_next(&walk)) > 0) {
        memcpy(few + have, walk.items, walk.n * sizeof *few);
        have += walk.n;
    }
    adp_walk_finish(&walk);
    if (e)
        return e;
    qsort(few, have, sizeof *few, ascending);
    for (size_t i = 0; i < n; i++)
        ret[i] = few[place(shares[i], have)];
    return 0;
}

/* A value being found: so many of its bits are known, from the top. */
struct sought {
    uint64_t prefix;
    uint64_t rank;   /* among the values that have this prefix, from 0 */
    uint64_t *count; /* of next digits; NULL: a sought before has the same prefix */
};

/* Counts the digit at `shift` of the values that begin as one that is sought. */
static void count_digits(const struct sought *sought, size_t n, const double *values,
                         size_t n_values, unsigned shift)
{
    for (size_t k = 0; k < n; k++) {
        uint64_t *count = sought[k].count, prefix = sought[k].prefix;
        if (!count)
            continue;
        if (shift == 64 - DIGIT)
            for (size_t i = 0; i < n_values; i++)
                count[ordered(values[i]) >> shift]++;
        else
            for (size_t i = 0; i < n_values; i++) {
                uint64_t bits = ordered(values[i]);
                if (bits >> (shift + DIGIT) == prefix)
                    count[bits >> shift & (DIGITS - 1)]++;
            }
    }
}

/* Which digit the value has, by the counts. */
static void descend(struct sought *sought, const uint64_t *count)
{
    uint64_t digit = 0;
    while (sought->rank >= count[digit])
        sought->rank -= count[digit++];
    sought->prefix = sought->prefix << DIGIT | digit;
}

static int pass(struct adp_store *store, const struct adp_numbers *sample,
                struct sought *sought, size_t n, uint64_t *counts, unsigned shift)
{
    const uint64_t *of[ADP_NUMBERS_RANKS];
    int e;
    for (size_t k = 0; k < n; k++) {
        sought[k].count = counts + k * DIGITS;
        for (size_t b = 0; b < k && sought[k].count; b++)
            if (sought[b].prefix == sought[k].prefix)
                sought[k].count = NULL, of[k] = of[b];
        if (!sought[k].count)
            continue;
        of[k] = sought[k].count;
        memset(sought[k].count, 0, DIGITS * sizeof *counts);
    }
    struct adp_walk walk = adp_walk_of(store, &sample->pile, sizeof(double));
    while ((e = adp_walk_next(&walk)) > 0)
        count_digits(sought, n, walk.items, walk.n, shift);
    adp_walk_finish(&walk);
    for (size_t k = 0; k < n && !e; k++)
        descend(&sought[k], of[k]);
    return e;
}

int adp_numbers_ranks(struct adp_store *store, const struct adp_numbers *sample,
                      const double *shares, size_t n, double *ret)
{
    struct sought sought[ADP_NUMBERS_RANKS] = { 0 };
    for (size_t i = 0; i < n; i++)
        ret[i] = sample->min;
    if (sample->pile.n && sample->min == sample->max)
        return 0;
    if (sample->pile.n && sample->pile.n <= FEW)
        return sort_few(store, sample, shares, n, ret);
    for (size_t i = 0; i < n; i++) {
        ret[i] = NAN;
        if (sample->pile.n)
            sought[i].rank = place(shares[i], sample->pile.n);
    }
    if (!sample->pile.n || !n)
        return 0;
    uint64_t *counts = malloc(n * DIGITS * sizeof *counts);
    int e = counts ? 0 : ADP_ENOMEM;
    for (unsigned i = 1; i <= PASSES && !e; i++)
        e = pass(store, sample, sought, n, counts, 64 - i * DIGIT);
    for (size_t i = 0; i < n && !e; i++)
        ret[i] = number(sought[i].prefix);
    free(counts);
    return e;
}

int adp_numbers_within(struct adp_store *store, const struct adp_numbers *sample,
                       const double *points, size_t n, uint64_t *ret)
{
    int e;
    memset(ret, 0, n * sizeof *ret);
    struct adp_walk walk = adp_walk_of(store, &sample->pile, sizeof(double));
    while ((e = adp_walk_next(&walk)) > 0) {
        const double *values = walk.items;
        for (uint32_t i = 0; i < walk.n; i++)
            for (size_t k = 0; k < n; k++)
                ret[k] += values[i] <= points[k];
    }
    adp_walk_finish(&walk);
    return e;
}
