/* SPDX-License-Identifier: MIT */
/* Doubles as text: what lines are mostly made of, besides names. Yardstick: snprintf with
 * %.17g, which is what a line that must read back to the same bits would else be printed
 * with. */
#include "bench/measure.h"
#include "core/number.h"

#include <stdio.h>

enum { DOUBLES = 4096, LAPS = 20 };
enum { OURS, PRINTF };

struct mix {
    const char *what, *target;
    double most;
    double value[DOUBLES];
};

static volatile size_t written; /* so that nothing is left out */

static double ours_ns(const struct mix *mix)
{
    char to[ADP_NUMBER_MAX];
    size_t n = 0;
    uint64_t start = bench_work_ns();
    for (uint32_t lap = 0; lap < LAPS; lap++)
        for (uint32_t i = 0; i < DOUBLES; i++)
            n += adp_number_print(to, mix->value[i]);
    uint64_t took = bench_work_ns() - start;
    written = n;
    return (double)took / (LAPS * DOUBLES);
}

static double printf_ns(const struct mix *mix)
{
    char to[ADP_NUMBER_MAX];
    size_t n = 0;
    uint64_t start = bench_work_ns();
    for (uint32_t lap = 0; lap < LAPS; lap++)
        for (uint32_t i = 0; i < DOUBLES; i++)
            n += (size_t)snprintf(to, sizeof to, "%.17g", mix->value[i]);
    uint64_t took = bench_work_ns() - start;
    written = n;
    return (double)took / (LAPS * DOUBLES);
}

static void once(void *ctx, uint32_t round, double *value)
{
    const struct mix *mix = ctx;
    if (round % 2)
        value[PRINTF] = printf_ns(mix);
    value[OURS] = ours_ns(mix);
    if (round % 2 == 0)
        value[PRINTF] = printf_ns(mix);
}

static void print(struct mix *mix)
{
    struct bench_rounds rounds;
    struct bench_row row = { .section = "Encoding",
                             .what = mix->what,
                             .target = mix->target };
    bench_repeat(&rounds, once, mix);
    double ratio = bench_ratio(&rounds, OURS, PRINTF);
    snprintf(row.measured, sizeof row.measured, "%.1f ns", bench_median(&rounds, OURS));
    snprintf(row.yardstick, sizeof row.yardstick, "snprintf %%.17g: %.0f ns",
             bench_median(&rounds, PRINTF));
    snprintf(row.ratio, sizeof row.ratio, "%.3f", ratio);
    row.met = ratio <= mix->most;
    bench_print(&row, &rounds);
}

/* xorshift64*: the same on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* An engine's page: mostly counts, some times to the microsecond, a few percentages. */
static void fill_page(struct mix *mix)
{
    uint64_t state = 11;
    for (uint32_t i = 0; i < DOUBLES; i++) {
        uint64_t r = next_random(&state);
        switch (i % 8) {
        case 0:
            mix->value[i] = (double)(r % 1000000000) / 1e6; /* a sum of seconds */
            break;
        case 1:
            mix->value[i] = (double)(r % 1000) / 1000;
            break;
        case 2:
            mix->value[i] = (double)(r % 100000000); /* tokens */
            break;
        default:
            mix->value[i] = (double)(r % 5000); /* a bucket */
        }
    }
}

/* Blocks used of blocks, and draws: 16 and 17 digits. */
static void fill_ratios(struct mix *mix)
{
    uint64_t state = 13;
    for (uint32_t i = 0; i < DOUBLES; i++) {
        uint64_t r = next_random(&state);
        mix->value[i] =
            i % 2 ? (double)(r % 27613) / 27613.0 : (double)(r >> 11) * 0x1p-53;
    }
}

int main(void)
{
    static struct mix page = { .what = "doubles as an engine's page has them",
                               .target = "≤ 0.12",
                               .most = 0.12 };
    static struct mix ratios = { .what = "doubles of 16 and 17 digits" };
    fill_page(&page);
    fill_ratios(&ratios);
    print(&page);
    print(&ratios);
    return 0;
}
