/* SPDX-License-Identifier: MIT */
/* Deciding and recording: what a request pays.
 *
 * Its cost is taken over batches that fit the ring, drained in between off the clock: one
 * call is too short to be timed by itself. Percentiles have to be: each call between two
 * readings of the clock, at a steady 0.9 M/s, first with the log's thread writing to disk
 * beside it, then with the log kept from its file in several ways, so that the ring fills and
 * stays full, in turn with a disk that works. */
#include "bench/measure.h"
#include "bench/stand.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BATCH = 2000,
    BATCHES = 50,
    CALLS = 400000, /* of a paced round: 0.44 s */
    THREADS = 2
};
static const double pace_ns = 1e9 / 0.9e6;

struct desk { /* one thread's */
    adp_lane *lane;
    uint64_t id[BATCH];
    uint64_t next_id;
};

static struct desk *desk_open(adp_runtime *rt)
{
    adp_error err = { 0 };
    struct desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        stand_fail("out of memory", NULL);
    if (adp_lane_open(&desk->lane, rt, &err) < 0)
        stand_fail("no lane", &err);
    return desk;
}

static void decide_batch(struct desk *desk)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        adp_decision d;
        adp_facts facts = { .size = sizeof facts,
                            .present = ADP_PROMPT | ADP_OUTPUT,
                            .request_id = stand_id(desk->next_id++),
                            .prompt_tokens = 2168,
                            .max_output_tokens = 256 };
        adp_lane_decide(desk->lane, &facts, &d);
        desk->id[i] = d.id;
    }
}

static void settle_batch(struct desk *desk)
{
    adp_result done = { .size = sizeof done, .end = ADP_DONE, .ok = 1 };
    for (uint32_t i = 0; i < BATCH; i++)
        adp_lane_outcome(desk->lane, desk->id[i], NULL, &done);
}

/* --- the cost of one --- */

enum { COST, CLOCK };

static volatile uint64_t clock_read; /* so that no reading is left out */

static double clock_cost_ns(void)
{
    uint64_t start = bench_work_ns();
    for (uint32_t i = 0; i < BATCH * BATCHES; i++)
        clock_read = bench_now_ns();
    return (double)(bench_work_ns() - start) / (BATCH * BATCHES);
}

static double decide_cost_ns(void)
{
    struct stand_options options = { .log = "/dev/null", .own_thread = true };
    adp_runtime *rt = stand_open(&options);
    struct desk *desk = desk_open(rt);
    uint64_t took = 0;
    stand_publish(rt, 300);
    for (uint32_t i = 0; i <= BATCHES; i++) {
        uint64_t start = bench_work_ns();
        decide_batch(desk);
        if (i) /* the first finds cold memory */
            took += bench_work_ns() - start;
        stand_flush(rt);
        settle_batch(desk);
        stand_flush(rt);
    }
    stand_close(rt);
    free(desk);
    return (double)took / (BATCH * BATCHES);
}

static void once_cost(void *ctx, uint32_t round, double *value)
{
    (void)ctx;
    if (round % 2)
        value[CLOCK] = clock_cost_ns();
    value[COST] = decide_cost_ns();
    if (round % 2 == 0)
        value[CLOCK] = clock_cost_ns();
}

static void print_cost(void)
{
    struct bench_rounds rounds;
    struct bench_row row = { .section = "Deciding",
                             .what = "decide + record, 5 signals",
                             .target = "≤ 150 ns" };
    bench_repeat(&rounds, once_cost, NULL);
    double cost = bench_median(&rounds, COST);
    snprintf(row.measured, sizeof row.measured, "%.0f ns", cost);
    snprintf(row.yardstick, sizeof row.yardstick, "clock_gettime: %.0f ns",
             bench_median(&rounds, CLOCK));
    snprintf(row.ratio, sizeof row.ratio, "%.1f", bench_ratio(&rounds, COST, CLOCK));
    row.met = cost <= 150;
    bench_print(&row, &rounds);
}

/* --- percentiles at a steady rate --- */

enum {
    P50,
    P99,
    P999,
    LOST,
    WORKING
}; /* WORKING: the same again, of a disk that works */

/* What keeps the log from its file; the disk works where nothing does. */
struct trouble {
    const char *what;
    bool stalled;     /* nobody drains */
    const char *path; /* what is at the log's path instead of a file; "" : a FIFO */
    const char *target;
};

struct paced {
    const struct trouble *trouble;
    uint32_t *took_ns;
};

/* Refused ones, as in an overload: no outcome follows that would have to be paced too. */
static void decide_paced(adp_lane *lane, uint32_t *took_ns)
{
    uint64_t start = bench_now_ns();
    for (uint32_t i = 0; i < CALLS; i++) {
        adp_decision d;
        adp_facts facts = { .size = sizeof facts, .request_id = stand_id(i) };
        uint64_t due = start + (uint64_t)(pace_ns * i), before;
        while ((before = bench_now_ns()) < due)
            ;
        adp_lane_decide(lane, &facts, &d);
        took_ns[i] = (uint32_t)(bench_now_ns() - before);
    }
}

/* The log's path leads elsewhere, from one moment to the next. */
static void lead(const char *path, const char *to)
{
    char link[600];
    snprintf(link, sizeof link, "%s.link", path);
    unlink(link);
    if (symlink(to, link) < 0 || rename(link, path) < 0)
        stand_fail("cannot make a link", NULL);
}

/* A FIFO that is open for reading, so that it can be written to, and full soon. */
static int open_fifo(const char *fifo)
{
    unlink(fifo);
    int fd = mkfifo(fifo, 0600) < 0 ? -1 : open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        stand_fail("cannot make a FIFO", NULL);
    return fd;
}

static void decide_in(const struct trouble *trouble, uint32_t *took_ns, double *value)
{
    struct stand_options options = { .log = "decide.jsonl",
                                     .own_thread = trouble->stalled,
                                     .refuse = true };
    char path[512], fifo[600];
    adp_stats stats = { .size = sizeof stats };
    adp_lane *lane;
    adp_error err = { 0 };
    int reader = -1;
    stand_path("decide.jsonl", path, sizeof path);
    snprintf(fifo, sizeof fifo, "%s.fifo", path);
    if (trouble->path && !*trouble->path) {
        reader = open_fifo(fifo);
        lead(path, "decide.jsonl.fifo");
    } else if (trouble->path) {
        lead(path, trouble->path);
    }
    adp_runtime *rt = stand_open(&options);
    if (adp_lane_open(&lane, rt, &err) < 0)
        stand_fail("no lane", &err);
    stand_publish(rt, 300);
    decide_paced(lane, took_ns);
    adp_runtime_stats(rt, &stats);
    value[LOST] = (double)stats.dropped;
    if (trouble->path) /* so that it can be closed */
        lead(path, "/dev/null");
    stand_close(rt);
    unlink(path);
    if (reader >= 0)
        close(reader);
    unlink(fifo);
    bench_sort(took_ns, CALLS);
    value[P50] = bench_rank(took_ns, CALLS, 0.5);
    value[P99] = bench_rank(took_ns, CALLS, 0.99);
    value[P999] = bench_rank(took_ns, CALLS, 0.999);
}

static const struct trouble working = { .what = "at 0.9 M/s, written to disk meanwhile",
                                        .target = "p99 ≤ 500 ns, none lost" };
static const struct trouble troubles[] = {
    { .what = "at 0.9 M/s, nobody draining, the ring full",
      .stalled = true,
      .target = "p99.9 ≤ 1.1×" },
    { .what = "at 0.9 M/s, the disk full (ENOSPC)",
      .path = "/dev/full",
      .target = "p99.9 ≤ 1.1×" },
    { .what = "at 0.9 M/s, into a pipe nobody empties",
      .path = "",
      .target = "p99.9 ≤ 1.1×" },
};

static void once_working(void *ctx, uint32_t round, double *value)
{
    struct paced *paced = ctx;
    (void)round;
    decide_in(&working, paced->took_ns, value);
}

static void once_troubled(void *ctx, uint32_t round, double *value)
{
    struct paced *paced = ctx;
    if (round % 2)
        decide_in(&working, paced->took_ns, value + WORKING);
    decide_in(paced->trouble, paced->took_ns, value);
    if (round % 2 == 0)
        decide_in(&working, paced->took_ns, value + WORKING);
}

static void print_percentiles(const struct bench_rounds *rounds, uint32_t first, char *to,
                              size_t cap)
{
    snprintf(to, cap, "p50 %.0f, p99 %.0f, p99.9 %.0f ns",
             bench_median(rounds, first + P50), bench_median(rounds, first + P99),
             bench_median(rounds, first + P999));
}

static void print_working(struct paced *paced)
{
    struct bench_rounds rounds;
    struct bench_row row = { .section = "Deciding",
                             .what = working.what,
                             .yardstick = "two readings of the clock are in each",
                             .target = working.target };
    bench_repeat(&rounds, once_working, paced);
    double lost = bench_median(&rounds, LOST);
    print_percentiles(&rounds, 0, row.measured, sizeof row.measured);
    snprintf(row.ratio, sizeof row.ratio, "lost: %.2f %%", 100 * lost / CALLS);
    row.met = bench_median(&rounds, P99) <= 500 && lost <= 0;
    bench_print(&row, &rounds);
}

static void print_troubled(struct paced *paced)
{
    struct bench_rounds rounds;
    struct bench_row row = { .section = "Deciding",
                             .what = paced->trouble->what,
                             .target = paced->trouble->target };
    char percentiles[64];
    bench_repeat(&rounds, once_troubled, paced);
    double ratio = bench_ratio(&rounds, P999, WORKING + P999);
    print_percentiles(&rounds, 0, row.measured, sizeof row.measured);
    print_percentiles(&rounds, WORKING, percentiles, sizeof percentiles);
    snprintf(row.yardstick, sizeof row.yardstick, "written to disk: %s", percentiles);
    snprintf(row.ratio, sizeof row.ratio, "%.2f; lost: %.0f %%", ratio,
             100 * bench_median(&rounds, LOST) / CALLS);
    row.met = ratio <= 1.1;
    bench_print(&row, &rounds);
}

static void print_paced(void)
{
    struct paced paced = { .took_ns = calloc(CALLS, sizeof *paced.took_ns) };
    if (!paced.took_ns)
        stand_fail("out of memory", NULL);
    print_working(&paced);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        paced.trouble = &troubles[i];
        print_troubled(&paced);
    }
    free(paced.took_ns);
}

/* --- two threads --- */

enum { TWO, ONE };

struct crew {
    adp_runtime *rt;
    struct desk *desk[THREADS];
    uint32_t n;
    _Atomic uint32_t at_start;
    _Atomic uint64_t took_ns; /* of the slowest, of the batch at hand */
};
struct worker {
    struct crew *crew;
    struct desk *desk;
};

/* All begin a batch together: spinning, since waking takes longer than a batch. */
static void meet(_Atomic uint32_t *at, uint32_t want)
{
    atomic_fetch_add(at, 1);
    while (atomic_load(at) < want)
        ;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct crew *crew = w->crew;
    meet(&crew->at_start, crew->n);
    uint64_t start = bench_now_ns();
    decide_batch(w->desk);
    uint64_t took = bench_now_ns() - start, most = atomic_load(&crew->took_ns);
    while (took > most && !atomic_compare_exchange_weak(&crew->took_ns, &most, took))
        ;
    return NULL;
}

static uint64_t batch_of(struct crew *crew)
{
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    atomic_store(&crew->at_start, 0);
    atomic_store(&crew->took_ns, 0);
    for (uint32_t i = 0; i < crew->n; i++) {
        worker[i] = (struct worker) { crew, crew->desk[i] };
        if (i && pthread_create(&thread[i], NULL, work, &worker[i]))
            stand_fail("no thread", NULL);
    }
    work(&worker[0]);
    for (uint32_t i = 1; i < crew->n; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < crew->n; i++)
        settle_batch(crew->desk[i]);
    stand_flush(crew->rt);
    return atomic_load(&crew->took_ns);
}

/* Decisions a second of `n` threads. */
static double rate_of(uint32_t n)
{
    struct stand_options options = { .log = "/dev/null", .own_thread = true };
    struct crew crew = { .rt = stand_open(&options), .n = n };
    uint64_t took = 0;
    stand_publish(crew.rt, 300);
    for (uint32_t i = 0; i < n; i++)
        crew.desk[i] = desk_open(crew.rt);
    for (uint32_t i = 0; i <= BATCHES; i++) {
        uint64_t batch = batch_of(&crew);
        took += i ? batch : 0;
    }
    stand_close(crew.rt);
    for (uint32_t i = 0; i < n; i++)
        free(crew.desk[i]);
    return (double)n * BATCH * BATCHES * 1e9 / (double)took;
}

static void once_two(void *ctx, uint32_t round, double *value)
{
    (void)ctx;
    if (round % 2)
        value[ONE] = rate_of(1);
    value[TWO] = rate_of(2);
    if (round % 2 == 0)
        value[ONE] = rate_of(1);
}

static void print_two(void)
{
    struct bench_rounds rounds;
    struct bench_row row = { .section = "Deciding",
                             .what = "two threads, CONCURRENT policy",
                             .target = "≥ 1.8" };
    bench_repeat(&rounds, once_two, NULL);
    double ratio = bench_ratio(&rounds, TWO, ONE);
    snprintf(row.measured, sizeof row.measured, "%.1f M/s",
             bench_median(&rounds, TWO) / 1e6);
    snprintf(row.yardstick, sizeof row.yardstick, "one thread: %.1f M/s",
             bench_median(&rounds, ONE) / 1e6);
    snprintf(row.ratio, sizeof row.ratio, "%.2f", ratio);
    row.met = ratio >= 1.8;
    bench_print(&row, &rounds);
}

int main(void)
{
    print_cost();
    print_paced();
    print_two();
    return 0;
}
