/* SPDX-License-Identifier: MIT */
/* How a run went over time. */
#include "runtime/analysis/series.h"

#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The narrowest bin. */
static const double NARROW = 1.0 / 1024; /* s */

void adp_series_finish(struct adp_series *series)
{
    free(series->bins);
    *series = (struct adp_series) { 0 };
}

static void add_bin(struct adp_series_bin *into, const struct adp_series_bin *from,
                    const size_t *to)
{
    into->decisions += from->decisions;
    into->refusals += from->refusals;
    for (size_t i = 0; i < ADP_SERIES_SIGNALS; i++) {
        const struct adp_series_reading *reading = &from->signals[i];
        size_t k = to ? to[i] : i;
        if (!reading->n || k >= ADP_SERIES_SIGNALS)
            continue;
        struct adp_series_reading *sum = &into->signals[k];
        if (!sum->n || reading->max > sum->max)
            sum->max = reading->max;
        sum->sum += reading->sum;
        sum->n += reading->n;
    }
}

/* Two bins become one: 2k and 2k + 1 are k of twice the width. */
static void widen(struct adp_series *series)
{
    double first = floor(series->first / 2);
    for (size_t i = 0; i < series->n; i++) {
        size_t k = (size_t)(floor((series->first + (double)i) / 2) - first);
        struct adp_series_bin bin = series->bins[i];
        memset(&series->bins[i], 0, sizeof bin);
        add_bin(&series->bins[k], &bin, NULL);
    }
    series->n = (size_t)(floor((series->first + (double)series->n - 1) / 2) - first) + 1;
    series->first = first;
    series->width *= 2;
}

/* Makes the bins from number `low` to `high` be there, of whatever width that takes. */
static void cover(struct adp_series *series, double from, double to)
{
    for (;;) {
        double low = fmin(series->first, floor(from / series->width));
        double high =
            fmax(series->first + (double)series->n - 1, floor(to / series->width));
        if (high - low < ADP_SERIES_BINS) {
            size_t shift = (size_t)(series->first - low);
            if (shift) {
                memmove(series->bins + shift, series->bins,
                        series->n * sizeof *series->bins);
                memset(series->bins, 0, shift * sizeof *series->bins);
            }
            series->first = low;
            series->n = (size_t)(high - low) + 1;
            return;
        }
        widen(series);
    }
}

static int begin(struct adp_series *series, double at)
{
    series->bins = calloc(ADP_SERIES_BINS, sizeof *series->bins);
    if (!series->bins)
        return ADP_ENOMEM;
    series->width = NARROW;
    /* Beyond 2^52 bins there is no telling one from the next. */
    while (fabs(at) / series->width >= 4503599627370496.0)
        series->width *= 2;
    series->first = floor(at / series->width);
    series->n = 1;
    return 0;
}

struct adp_series_bin *adp_series_at(struct adp_series *series, double at, int *ret_code)
{
    /* Widths are powers of two, so nothing is rounded here. */
    double k = series->bins ? at / series->width - series->first : -1;
    if (k >= 0 && k < (double)series->n)
        return &series->bins[(size_t)k];
    if (!isfinite(at))
        return NULL;
    int e = series->bins ? 0 : begin(series, at);
    if (e) {
        *ret_code = e;
        return NULL;
    }
    cover(series, at, at);
    return &series->bins[(size_t)(floor(at / series->width) - series->first)];
}

int adp_series_merge(struct adp_series *into, const struct adp_series *from,
                     const size_t *to)
{
    int code = 0;
    if (!from->n)
        return 0;
    /* Middles, not edges: they stay in their bins whatever is rounded. */
    double low = (from->first + 0.5) * from->width;
    double high = (from->first + (double)from->n - 0.5) * from->width;
    if (!adp_series_at(into, low, &code))
        return code;
    while (into->width < from->width)
        widen(into);
    cover(into, low, high);
    for (size_t i = 0; i < from->n; i++) {
        double middle = (from->first + (double)i + 0.5) * from->width;
        size_t k = (size_t)(floor(middle / into->width) - into->first);
        add_bin(&into->bins[k], &from->bins[i], to);
    }
    return 0;
}
