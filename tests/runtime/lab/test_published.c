/* SPDX-License-Identifier: MIT */
/* The traffic behind the published five-repeat figures, run through the engine under
 * policies written out here: the engine alone must give every published figure to the
 * digit. Skipped where that data is not beside the source tree. */
#include "runtime/lab/engine.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SKIPPED = 77, REPEATS = 5 };

static char folder[512];

struct run {
    double kv_at_least; /* refuses at and above */
    uint32_t most_waiting;
    unsigned refused, ok, served;
    uint64_t ttft_ms[400];
};

static int decide(void *ctx, uint32_t request, uint64_t now_ms,
                  const struct adp_engine_state *state, struct adp_error *err)
{
    struct run *run = ctx;
    (void)request;
    (void)now_ms;
    (void)err;
    if (state->kv < run->kv_at_least && state->waiting <= run->most_waiting)
        return ADP_ENGINE_ADMIT;
    run->refused++;
    return ADP_ENGINE_REFUSE;
}

static int outcome(void *ctx, const struct adp_engine_outcome *o, struct adp_error *err)
{
    struct run *run = ctx;
    (void)err;
    run->ok += o->ok;
    run->ttft_ms[run->served++] = o->ttft_ms;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t p95(struct run *run)
{
    qsort(run->ttft_ms, run->served, sizeof run->ttft_ms[0], ascending);
    return run->ttft_ms[(run->served * 95 + 99) / 100 - 1]; /* nearest rank */
}

/* Medians and ranges as published; goodput in requests of 400 (0.5425 is 217). */
static const struct {
    const char *policy;
    double kv_at_least;
    uint32_t most_waiting;
    unsigned refused[REPEATS];
    uint64_t p95_ms[3]; /* lowest, median, highest */
    unsigned ok[3];
} published[] = {
    { "no_admission",
      2.0,
      1000,
      { 0, 0, 0, 0, 0 },
      { 2530, 2630, 2830 },
      { 212, 217, 229 } },
    { "queue_depth",
      2.0,
      105,
      { 106, 105, 111, 119, 98 },
      { 1430, 1480, 1480 },
      { 281, 289, 302 } },
    { "kv_threshold",
      0.90,
      1000,
      { 254, 252, 254, 260, 241 },
      { 180, 180, 180 },
      { 140, 146, 159 } },
};

START_TEST(the_published_traffic_gives_the_published_figures)
{
    uint64_t p95s[REPEATS], oks[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        char path[640];
        struct adp_traffic traffic;
        struct run run = { .kv_at_least = published[_i].kv_at_least,
                           .most_waiting = published[_i].most_waiting };
        struct adp_engine_calls calls = { &run, decide, outcome };
        snprintf(path, sizeof path, "%s/%s-r%d.csv", folder, published[_i].policy, r + 1);
        ck_assert_int_eq(adp_traffic_read_file(&traffic, path, NULL), 0);
        ck_assert_uint_eq(traffic.n, 400);
        ck_assert_int_eq(adp_engine_run(&traffic, &calls, NULL), 0);
        adp_traffic_finish(&traffic);
        ck_assert_uint_eq(run.refused, published[_i].refused[r]);
        ck_assert_uint_eq(run.served, 400 - run.refused);
        p95s[r] = p95(&run);
        oks[r] = run.ok;
    }
    qsort(p95s, REPEATS, sizeof p95s[0], ascending);
    qsort(oks, REPEATS, sizeof oks[0], ascending);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(p95s[i * 2], published[_i].p95_ms[i]);
        ck_assert_uint_eq(oks[i * 2], published[_i].ok[i]);
    }
}
END_TEST

int main(void)
{
    const char *source = getenv("srcdir");
    snprintf(folder, sizeof folder, "%s/../shared/data/published-demo",
             source ? source : ".");
    if (access(folder, R_OK) != 0) {
        printf(
            "ok - the published traffic gives the published figures # SKIP there is no "
            "../shared/data/published-demo\n");
        return SKIPPED;
    }
    Suite *s = suite_create("published");
    TCase *t = tcase_create("published");
    tcase_add_loop_test(t, the_published_traffic_gives_the_published_figures, 0,
                        sizeof published / sizeof published[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
