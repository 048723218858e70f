/* SPDX-License-Identifier: MIT */
/* How a run went over time. */
#include "runtime/analysis/course.h"

#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The narrowest bin. */
static const double NARROW = 1.0 / 1024; /* s */

void adp_course_finish(struct adp_course *course)
{
    free(course->bins);
    *course = (struct adp_course) { 0 };
}

static void add_bin(struct adp_course_bin *into, const struct adp_course_bin *from,
                    const size_t *to)
{
    into->decisions += from->decisions;
    into->refusals += from->refusals;
    for (size_t i = 0; i < ADP_COURSE_SIGNALS; i++) {
        const struct adp_course_reading *reading = &from->signals[i];
        size_t k = to ? to[i] : i;
        if (!reading->n || k >= ADP_COURSE_SIGNALS)
            continue;
        struct adp_course_reading *sum = &into->signals[k];
        if (!sum->n || reading->max > sum->max)
            sum->max = reading->max;
        sum->sum += reading->sum;
        sum->n += reading->n;
    }
}

/* Two bins become one: 2k and 2k + 1 are k of twice the width. */
static void widen(struct adp_course *course)
{
    double first = floor(course->first / 2);
    for (size_t i = 0; i < course->n; i++) {
        size_t k = (size_t)(floor((course->first + (double)i) / 2) - first);
        struct adp_course_bin bin = course->bins[i];
        memset(&course->bins[i], 0, sizeof bin);
        add_bin(&course->bins[k], &bin, NULL);
    }
    course->n = (size_t)(floor((course->first + (double)course->n - 1) / 2) - first) + 1;
    course->first = first;
    course->width *= 2;
}

/* Makes the bins from number `low` to `high` be there, of whatever width that takes. */
static void cover(struct adp_course *course, double from, double to)
{
    for (;;) {
        double low = fmin(course->first, floor(from / course->width));
        double high =
            fmax(course->first + (double)course->n - 1, floor(to / course->width));
        if (high - low < ADP_COURSE_BINS) {
            size_t shift = (size_t)(course->first - low);
            if (shift) {
                memmove(course->bins + shift, course->bins,
                        course->n * sizeof *course->bins);
                memset(course->bins, 0, shift * sizeof *course->bins);
            }
            course->first = low;
            course->n = (size_t)(high - low) + 1;
            return;
        }
        widen(course);
    }
}

static int begin(struct adp_course *course, double at)
{
    course->bins = calloc(ADP_COURSE_BINS, sizeof *course->bins);
    if (!course->bins)
        return ADP_ENOMEM;
    course->width = NARROW;
    /* Beyond 2^52 bins there is no telling one from the next. */
    while (fabs(at) / course->width >= 4503599627370496.0)
        course->width *= 2;
    course->first = floor(at / course->width);
    course->n = 1;
    return 0;
}

struct adp_course_bin *adp_course_at(struct adp_course *course, double at, int *ret_code)
{
    /* Widths are powers of two, so nothing is rounded here. */
    double k = course->bins ? at / course->width - course->first : -1;
    if (k >= 0 && k < (double)course->n)
        return &course->bins[(size_t)k];
    if (!isfinite(at))
        return NULL;
    int e = course->bins ? 0 : begin(course, at);
    if (e) {
        *ret_code = e;
        return NULL;
    }
    cover(course, at, at);
    return &course->bins[(size_t)(floor(at / course->width) - course->first)];
}

int adp_course_merge(struct adp_course *into, const struct adp_course *from,
                     const size_t *to)
{
    int code = 0;
    if (!from->n)
        return 0;
    /* Middles, not edges: they stay in their bins whatever is rounded. */
    double low = (from->first + 0.5) * from->width;
    double high = (from->first + (double)from->n - 0.5) * from->width;
    if (!adp_course_at(into, low, &code))
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
