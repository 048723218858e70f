/* SPDX-License-Identifier: MIT */
/* To disk, none lost: decisions in the three shapes of the log, made, drained, encoded and
 * written by one thread, so that the rate is what one core does of all of it. Yardstick:
 * write(2) of the same bytes to a file beside it, in pieces of the size that the log
 * writes. */
#include "bench/measure.h"
#include "bench/stand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 256 * 1024 };
enum { RATE, OVER_WRITE, LINE_BYTES };

/* The Python original on the same work, decisions a second: as measured for the design
 * (docs/performance.md, "The original"). */
static const double original_five = 40400, original_300 = 8355;

struct shape {
    const char *what;
    uint32_t n_series; /* given with each request; 0: by snapshot */
    uint32_t batch, batches;
    adp_runtime *rt;
    adp_lane *lane;
    uint64_t next_id;
};

static void decide_batch(struct shape *s)
{
    const adp_metric *metrics = s->n_series ? stand_metrics(s->n_series) : NULL;
    for (uint32_t i = 0; i < s->batch; i++) {
        adp_decision d;
        adp_facts facts = { .size = sizeof facts, .request_id = stand_id(s->next_id++) };
        if (metrics)
            adp_lane_decide_with(s->lane, metrics, s->n_series, &facts, &d);
        else
            adp_lane_decide(s->lane, &facts, &d);
    }
}

static double rate_of(struct shape *s, const char *log)
{
    struct stand_options options = { .log = log, .own_thread = true };
    adp_stats stats = { .size = sizeof stats };
    adp_error err = { 0 };
    s->rt = stand_open(&options);
    if (adp_lane_open(&s->lane, s->rt, &err) < 0)
        stand_fail("no lane", &err);
    stand_publish(s->rt, 300);
    decide_batch(s); /* the first lap finds cold memory */
    stand_flush(s->rt);
    uint64_t start = bench_work_ns();
    for (uint32_t i = 0; i < s->batches; i++) {
        decide_batch(s);
        stand_flush(s->rt);
    }
    double took_s = (double)(bench_work_ns() - start) * 1e-9;
    adp_runtime_stats(s->rt, &stats);
    if (stats.dropped)
        stand_fail("records were lost", NULL);
    stand_close(s->rt);
    return (double)s->batch * s->batches / took_s;
}

static char *read_file(const char *path, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t len = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    char *text = len > 0 ? malloc((size_t)len) : NULL;
    if (!text || pread(fd, text, (size_t)len, 0) != len)
        stand_fail("cannot read the log back", NULL);
    close(fd);
    *ret_len = (size_t)len;
    return text;
}

/* Bytes a second of write(2) to a new file. */
static double write_rate(const char *text, size_t len)
{
    char path[512];
    stand_path("yardstick.jsonl", path, sizeof path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        stand_fail("cannot write the yardstick", NULL);
    uint64_t start = bench_work_ns();
    for (size_t at = 0; at < len;) {
        size_t piece = len - at < PIECE ? len - at : PIECE;
        ssize_t n = write(fd, text + at, piece);
        if (n < 0)
            stand_fail(strerror(errno), NULL);
        at += (size_t)n;
    }
    double took_s = (double)(bench_work_ns() - start) * 1e-9;
    close(fd);
    unlink(path);
    return (double)len / took_s;
}

static void once(void *ctx, uint32_t round, double *value)
{
    struct shape *s = ctx;
    char path[512];
    size_t len;
    stand_path("disk.jsonl", path, sizeof path);
    unlink(path);
    value[RATE] = rate_of(s, "disk.jsonl");
    char *text = read_file(path, &len);
    double all = (double)s->batch * (s->batches + 1);
    value[LINE_BYTES] = (double)len / all;
    value[OVER_WRITE] = value[RATE] * value[LINE_BYTES] / write_rate(text, len);
    free(text);
    unlink(path);
    (void)round; /* the bytes to write are those of the log: it goes first */
}

int main(int argc, char **argv)
{
    struct shape shapes[] = {
        { .what = "to disk, by snapshot", .batch = 2000, .batches = 60 },
        { .what = "to disk, 5 keys inline", .n_series = 6, .batch = 1000, .batches = 80 },
        { .what = "to disk, 300 series inline",
          .n_series = 300,
          .batch = 20,
          .batches = 200 },
    };
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct shape *s = &shapes[i];
        struct bench_rounds rounds;
        struct bench_row row = { .section = "To disk, none lost", .what = s->what };
        if (argc > 1 && (uint32_t)(argv[1][0] - '0') != i)
            continue;
        bench_repeat(&rounds, once, s);
        double rate = bench_median(&rounds, RATE),
               over = bench_median(&rounds, OVER_WRITE);
        snprintf(row.measured, sizeof row.measured, "%.0f k/s, %.0f B a line", rate / 1e3,
                 bench_median(&rounds, LINE_BYTES));
        if (i == 1) {
            snprintf(row.yardstick, sizeof row.yardstick, "original: %.0f/s",
                     original_five);
            snprintf(row.ratio, sizeof row.ratio, "%.1f×; %.2f of write(2)",
                     rate / original_five, over);
            row.target = "≥ 15×";
            row.met = rate / original_five >= 15;
        } else if (i == 2) {
            snprintf(row.yardstick, sizeof row.yardstick,
                     "write(2) of the same bytes; original: %.0f/s", original_300);
            snprintf(row.ratio, sizeof row.ratio, "%.2f; %.1f× the original", over,
                     rate / original_300);
            row.target = "≥ 0.4";
            row.met = over >= 0.4;
        } else {
            snprintf(row.yardstick, sizeof row.yardstick, "write(2) of the same bytes");
            snprintf(row.ratio, sizeof row.ratio, "%.2f", over);
            row.target = "≥ 1 M/s";
            row.met = rate >= 1e6;
        }
        bench_print(&row, &rounds);
    }
    return 0;
}
