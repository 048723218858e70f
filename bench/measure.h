/* SPDX-License-Identifier: MIT */
/* Measuring: rounds of a subject and its yardstick, interleaved, and rows of a table.
 *
 * A figure is a ratio of two things done in turn in the same process, so that it holds on
 * another machine and on another day. What it cannot survive is a processor shared with
 * others: a round in which any of our threads waited for one for more than a twentieth of
 * the time (/proc/self/task/N/schedstat) is thrown away and done again; when too few are
 * left the row says "not measured". */
#ifndef ADP_BENCH_MEASURE_H
#define ADP_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_ROUNDS = 15, BENCH_VALUES = 8 };

uint64_t bench_now_ns(void);
/* For what one thread does alone: the same clock, but with BENCH_BUSY the time that our
 * process had a processor, which is nearer to what a quiet machine would show. */
uint64_t bench_work_ns(void);

/* Nanoseconds that the threads of this process were ready and had no processor, since each
 * began. False: not known here. */
bool bench_waited_ns(uint64_t *ret);

/* What a row is made of: up to BENCH_VALUES figures of each sound round. */
struct bench_rounds {
    uint32_t n, tried;
    bool busy;         /* BENCH_BUSY is set: every round counts, and rows say "busy" */
    double worst_wait; /* share of a round's time spent waiting, the largest */
    double value[BENCH_ROUNDS][BENCH_VALUES];
};

/* Calls `once` until there are BENCH_ROUNDS sound rounds, or three times as many were
 * tried. It fills value[0..BENCH_VALUES) and is told the round's number, to begin with the
 * one or the other in turn. */
void bench_repeat(struct bench_rounds *rounds,
                  void (*once)(void *ctx, uint32_t round, double *value), void *ctx);
/* True when enough rounds are sound. */
bool bench_is_sound(const struct bench_rounds *rounds);
double bench_median(const struct bench_rounds *rounds, uint32_t which);
/* The median of value[over] / value[under] of each round. */
double bench_ratio(const struct bench_rounds *rounds, uint32_t over, uint32_t under);

/* Nearest rank in `sorted`, share in (0, 1]. */
double bench_rank(const uint32_t *sorted, size_t n, double share);
void bench_sort(uint32_t *values, size_t n);

/* One row: tab-separated, as bench/table.sh reads it. Where there is a target, its last
 * column says whether it was met, which is asked of sound rounds only. */
struct bench_row {
    const char *section, *what;
    char measured[96], yardstick[96], ratio[48];
    const char *target; /* NULL: none */
    bool met;
};
void bench_print(const struct bench_row *row, const struct bench_rounds *rounds);

#endif
