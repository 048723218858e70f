/* SPDX-License-Identifier: MIT */
/* Publishing a page by its size: reading the text, evaluating the signals, recording the
 * snapshot. Off the request path, once for each scrape. Yardstick: memcpy of the page. */
#include "bench/measure.h"
#include "bench/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 50, COPIES = 2000 };
enum { PUBLISH, COPY };

struct size {
    uint32_t n_series;
    size_t len;
    char *page, *copy;
};

static double publish_us(const struct size *size)
{
    struct stand_options options = { .log = "/dev/null", .own_thread = true };
    adp_runtime *rt = stand_open(&options);
    adp_error err = { 0 };
    uint64_t took = 0;
    for (uint32_t i = 0; i <= TIMES; i++) {
        uint64_t start = bench_work_ns();
        if (adp_runtime_publish_text(rt, size->page, size->len, &err) < 0)
            stand_fail("cannot publish", &err);
        took += i ? bench_work_ns() - start : 0; /* the first makes room */
        stand_flush(rt);
    }
    stand_close(rt);
    return (double)took / TIMES / 1e3;
}

static double copy_us(const struct size *size)
{
    uint64_t start = bench_work_ns();
    for (uint32_t i = 0; i < COPIES; i++) {
        memcpy(size->copy, size->page, size->len);
        __asm__ volatile("" : : "r"(size->copy) : "memory");
    }
    return (double)(bench_work_ns() - start) / COPIES / 1e3;
}

static void once(void *ctx, uint32_t round, double *value)
{
    const struct size *size = ctx;
    if (round % 2)
        value[COPY] = copy_us(size);
    value[PUBLISH] = publish_us(size);
    if (round % 2 == 0)
        value[COPY] = copy_us(size);
}

int main(void)
{
    static const uint32_t sizes[] = { 6, 60, 300, 1000, 4000 };
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct size size = { .n_series = sizes[i] };
        struct bench_rounds rounds;
        char what[64];
        struct bench_row row = { .section = "Publishing", .what = what };
        size.page = stand_page(sizes[i], &size.len);
        size.copy = malloc(size.len);
        if (!size.copy)
            stand_fail("out of memory", NULL);
        bench_repeat(&rounds, once, &size);
        double us = bench_median(&rounds, PUBLISH);
        snprintf(what, sizeof what, "a page of %u series, %.1f KB", sizes[i],
                 (double)size.len / 1e3);
        snprintf(row.measured, sizeof row.measured, "%.1f µs, %.0f ns a series", us,
                 us * 1e3 / sizes[i]);
        snprintf(row.yardstick, sizeof row.yardstick, "memcpy: %.2f µs",
                 bench_median(&rounds, COPY));
        snprintf(row.ratio, sizeof row.ratio, "%.0f",
                 bench_ratio(&rounds, PUBLISH, COPY));
        bench_print(&row, &rounds);
        free(size.copy);
        free(size.page);
    }
    return 0;
}
