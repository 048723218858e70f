/* SPDX-License-Identifier: MIT */
/* How a run went over time: arrivals, refusals and signals in bins of equal width.
 *
 * Bins are a power of two of seconds wide and begin at whole multiples of that, and double
 * when there would be too many: so the order of lines says nothing, and pieces of a log
 * merge into what the whole would have given. */
#ifndef ADP_ANALYSIS_COURSE_H
#define ADP_ANALYSIS_COURSE_H

#include <stddef.h>
#include <stdint.h>

enum { ADP_COURSE_BINS = 48, ADP_COURSE_SIGNALS = 12 };

struct adp_course_bin {
    uint64_t decisions, refusals; /* the policy's own */
    struct adp_course_reading {
        double sum, max;
        uint64_t n;
    } signals[ADP_COURSE_SIGNALS];
};

/* Zeroed, it is empty. */
struct adp_course {
    struct adp_course_bin *bins; /* owned; ADP_COURSE_BINS; NULL: nothing was added */
    double first;                /* number of bins[0]; it begins at first * width */
    double width;                /* seconds */
    size_t n;                    /* bins in use */
};

void adp_course_finish(struct adp_course *course);
/* The bin of a time; NULL: it is not finite, or memory is out (then *ret_code is
 * ADP_ENOMEM). Valid until the next call. */
struct adp_course_bin *adp_course_at(struct adp_course *course, double at, int *ret_code);
/* Adds a reading of signal number `signal`, if it is one of those kept. */
static inline void adp_course_read(struct adp_course_bin *bin, size_t signal,
                                   double value)
{
    if (signal >= ADP_COURSE_SIGNALS)
        return;
    struct adp_course_reading *reading = &bin->signals[signal];
    if (!reading->n++ || value > reading->max)
        reading->max = value;
    reading->sum += value;
}
/* Adds all of `from`, signal k of which is signal to[k] here. 0 or ADP_ENOMEM. */
int adp_course_merge(struct adp_course *into, const struct adp_course *from,
                     const size_t *to);

#endif
