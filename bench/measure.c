/* SPDX-License-Identifier: MIT */
/* Measuring (bench/measure.h). */
#include "bench/measure.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double most_wait = 0.05;

static bool is_busy(void)
{
    return getenv("BENCH_BUSY") != NULL;
}

static uint64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t bench_work_ns(void)
{
    return is_busy() ? read_ns(CLOCK_PROCESS_CPUTIME_ID) : bench_now_ns();
}

bool bench_waited_ns(uint64_t *ret)
{
    DIR *tasks = opendir("/proc/self/task");
    bool any = false;
    *ret = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[320];
        uint64_t ran, waited;
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        if (fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2) {
            *ret += waited;
            any = true;
        }
        fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return any;
}

void bench_repeat(struct bench_rounds *rounds,
                  void (*once)(void *ctx, uint32_t round, double *value), void *ctx)
{
    *rounds = (struct bench_rounds) { .busy = is_busy() };
    while (rounds->n < BENCH_ROUNDS && rounds->tried < 3 * BENCH_ROUNDS) {
        uint64_t before, after, start = bench_now_ns();
        double *value = rounds->value[rounds->n];
        bool known = bench_waited_ns(&before);
        once(ctx, rounds->tried++, value);
        known &= bench_waited_ns(&after);
        double wall = (double)(bench_now_ns() - start);
        double wait = known && after > before ? (double)(after - before) / wall : 0.0;
        if (wait > rounds->worst_wait)
            rounds->worst_wait = wait;
        if (rounds->busy || (known && wait <= most_wait))
            rounds->n++;
    }
}

bool bench_is_sound(const struct bench_rounds *rounds)
{
    return rounds->n > BENCH_ROUNDS / 2;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n ? values[n / 2] : 0.0;
}

double bench_median(const struct bench_rounds *rounds, uint32_t which)
{
    double values[BENCH_ROUNDS];
    for (uint32_t i = 0; i < rounds->n; i++)
        values[i] = rounds->value[i][which];
    return median(values, rounds->n);
}

double bench_ratio(const struct bench_rounds *rounds, uint32_t over, uint32_t under)
{
    double values[BENCH_ROUNDS];
    for (uint32_t i = 0; i < rounds->n; i++)
        values[i] = rounds->value[i][over] / rounds->value[i][under];
    return median(values, rounds->n);
}

static int by_count(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void bench_sort(uint32_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_count);
}

double bench_rank(const uint32_t *sorted, size_t n, double share)
{
    size_t rank = (size_t)(share * (double)n + 0.999999);
    return n ? sorted[rank ? (rank > n ? n : rank) - 1 : 0] : 0.0;
}

void bench_print(const struct bench_row *row, const struct bench_rounds *rounds)
{
    const char *target = row->target ? row->target : "";
    if (bench_is_sound(rounds)) {
        printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row->section, row->what, row->measured,
               row->yardstick, row->ratio, target,
               rounds->busy  ? "busy"
               : row->target ? row->met ? "met" : "missed"
                             : "");
    } else {
        printf("%s\t%s\t\t\t\t%s\tnot measured: waited for a processor %.0f %% of the "
               "time\n",
               row->section, row->what, target, 100.0 * rounds->worst_wait);
    }
    fflush(stdout);
}
