/* SPDX-License-Identifier: MIT */
/* How a run went over time: one bar for each bin, from its lowest value to its highest.
 *
 * A bar's height is its place between 0, or the lowest value if that is below, and the
 * greatest: heights of one row compare, and a row of equal values is a row of equal bars.
 * A bin without readings is a blank. */
#include "runtime/analysis/overtime.h"

#include "runtime/analysis/page.h"

#include <math.h>

enum { NAME = 16, HEIGHTS = 8 };

/* One row's values; NaN: none. */
struct row {
    const char *name;
    double value[ADP_COURSE_BINS];
    struct adp_digits (*digits)(double);
};

static void print_bars(FILE *to, const struct row *row, size_t n)
{
    static const char *const bars[HEIGHTS] = { "\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588" };
    double low = 0, high = NAN;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, row->value[i]);
        high = fmax(high, row->value[i]);
    }
    if (isnan(high))
        return;
    adp_page_name(to, row->name, NAME);
    for (size_t i = 0; i < n; i++) {
        double share = high > low ? (row->value[i] - low) / (high - low) : 0;
        int height = isnan(share) ? 0 : (int)(share * (HEIGHTS - 1) + 0.5);
        fputs(isnan(row->value[i]) ? " " : bars[height], to);
    }
    adp_page_put(to, "  to %s\n", row->digits(high).text);
}

static void print_arrivals(FILE *to, const struct adp_course *course)
{
    struct row rate = { .name = "decisions/s", .digits = adp_page_number };
    struct row share = { .name = "refused share", .digits = adp_page_percent };
    for (size_t i = 0; i < course->n; i++) {
        const struct adp_course_bin *bin = &course->bins[i];
        rate.value[i] = (double)bin->decisions / course->width;
        share.value[i] =
            bin->decisions ? (double)bin->refusals / (double)bin->decisions : NAN;
    }
    print_bars(to, &rate, course->n);
    print_bars(to, &share, course->n);
}

static void print_signal(FILE *to, const struct adp_course *course, size_t signal,
                         const char *name)
{
    struct row row = { .name = name, .digits = adp_page_number };
    for (size_t i = 0; i < course->n; i++) {
        const struct adp_course_reading *reading = &course->bins[i].signals[signal];
        row.value[i] = reading->n ? reading->sum / (double)reading->n : NAN;
    }
    print_bars(to, &row, course->n);
}

void adp_overtime_print(FILE *to, const struct adp_run *run)
{
    const struct adp_course *course = &run->part->course;
    if (course->n < 2 || !run->decided)
        return;
    adp_page_heading(to, "OVER TIME");
    adp_page_wrap(to, 2, 2,
                  "Each bar is %s s; its height is between 0 and the row's greatest. "
                  "Refused is the policy's verdict, enforced or not; signals are means.",
                  adp_page_exact(course->width).text);
    print_arrivals(to, course);
    for (size_t i = 0; i < run->n_signals && i < ADP_COURSE_SIGNALS; i++)
        print_signal(to, course, i, run->signals[i].name);
}
