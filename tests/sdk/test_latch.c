/* SPDX-License-Identifier: MIT */
/* Gates that remember (admitperf/latch.h), step by step with a clock moved by hand. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define MS     UINT64_C(1000000)
#define ABSENT NAN

/* --- hysteresis --- */

enum { STEPS = 8 };

static const struct {
    const char *claim;
    struct adp_hysteresis_rule rule;
    struct {
        uint64_t ms;
        double reading;
        bool closed;
    } step[STEPS];
} hystereses[] = {
    { "closes at one threshold and opens below another",
      { .close_at = 0.9, .open_below = 0.7 },
      { { 0, 0.89, false },
        { 1, 0.9, true },
        { 2, 0.89, true },
        { 3, 0.7, true },
        { 4, 0.69, false },
        { 5, 0.89, false },
        { 6, 0.95, true },
        { 7, 0.1, false } } },
    { "without a deadline it stays closed between the two for as long as it takes",
      { .close_at = 0.9, .open_below = 0.7 },
      { { 0, 0.9, true },
        { 3600000, 0.8, true },
        { 7200000, 0.8, true },
        { 7200001, 0.6, false },
        { 7200002, 0.8, false },
        { 7200003, 0.8, false },
        { 7200004, 0.8, false },
        { 7200005, 0.9, true } } },
    { "with a deadline it opens that long after the last high reading",
      { .close_at = 0.9, .open_below = 0.7, .hold_ns = 5000 * MS },
      { { 0, 0.9, true },
        { 4000, 0.95, true }, /* high again: the five seconds begin anew */
        { 8999, 0.8, true },
        { 9000, 0.8, false },
        { 9001, 0.8, false },
        { 9002, 0.9, true },
        { 14001, 0.89, true },
        { 14002, 0.89, false } } },
    { "a signal that vanishes opens it at once when nothing else is said",
      { .close_at = 0.9, .open_below = 0.7 },
      { { 0, 0.99, true },
        { 1, ABSENT, false },
        { 2, 0.8, false },
        { 3, 0.9, true },
        { 4, 0.8, true },
        { 4, ABSENT, false },
        { 5, ABSENT, false },
        { 6, 0.9, true } } },
    { "a signal that vanishes opens it after its own deadline",
      { .close_at = 0.9, .open_below = 0.7, .absent_ns = 5000 * MS },
      { { 0, 0.99, true },
        { 1000, 0.8, true }, /* the last reading */
        { 1001, ABSENT, true },
        { 5999, ABSENT, true },
        { 6000, ABSENT, false },
        { 6001, ABSENT, false },
        { 6002, 0.8, false },
        { 6003, 0.9, true } } },
    { "a signal that comes back in time keeps it closed",
      { .close_at = 0.9, .open_below = 0.7, .absent_ns = 5000 * MS },
      { { 0, 0.99, true },
        { 4999, ABSENT, true },
        { 4999, 0.8, true }, /* seen: five more seconds */
        { 9998, ABSENT, true },
        { 9999, ABSENT, false },
        { 9999, 0.8, false },
        { 9999, 0.9, true },
        { 9999, 0.69, false } } },
    { "equal thresholds are a plain gate",
      { .close_at = 0.9, .open_below = 0.9 },
      { { 0, 0.89, false },
        { 1, 0.9, true },
        { 2, 0.89, false },
        { 3, 0.91, true },
        { 4, 0.1, false },
        { 5, 0.9, true },
        { 6, 0.9, true },
        { 7, 0.8999, false } } },
    { "an absent signal closes nothing",
      { .close_at = 0.0, .open_below = 0.0, .absent_ns = 5000 * MS },
      { { 0, ABSENT, false },
        { 1, ABSENT, false },
        { 2, 0.0, true },
        { 3, ABSENT, true },
        { 5002, ABSENT, false },
        { 5003, ABSENT, false },
        { 5004, ABSENT, false },
        { 5005, ABSENT, false } } },
    { "a time of another clock does not hold it",
      { .close_at = 0.9,
        .open_below = 0.7,
        .hold_ns = 5000 * MS,
        .absent_ns = 9000 * MS },
      { { 90000, 0.9, true },
        { 89500, 0.8, true }, /* half a second back: two threads */
        { 10, 0.8, false },   /* the machine was restarted */
        { 90000, 0.9, true },
        { 89500, ABSENT, true },
        { 10, ABSENT, false },
        { 11, 0.8, false },
        { 12, 0.9, true } } },
};

START_TEST(hysteresis_follows_its_rule)
{
    struct adp_hysteresis h = { 0 };
    for (unsigned i = 0; i < STEPS; i++) {
        double reading = hystereses[_i].step[i].reading;
        /* an absent reading's value is garbage, and NaN is absent whatever is said */
        bool present = !isnan(reading) || i % 2;
        bool closed = adp_hysteresis_closed(&h, &hystereses[_i].rule, present,
                                            isnan(reading) && !present ? 1e9 : reading,
                                            hystereses[_i].step[i].ms * MS);
        ck_assert_msg(closed == hystereses[_i].step[i].closed, "%s: step %u is %s",
                      hystereses[_i].claim, i, closed ? "closed" : "open");
    }
}
END_TEST

/* --- probe: due every 1000 ms --- */

enum ask { OPEN = 'o', BESIDE = 'b', REFUSES = 'r', NEVER = 'n' };

static const struct {
    const char *claim;
    struct {
        uint64_t ms;
        enum ask ask;
        double reading;
        bool through;
    } step[STEPS];
} probes[] = {
    { "a reading that stands still lets one through every interval, and one only",
      { { 0, REFUSES, 0.99, false },
        { 999, REFUSES, 0.99, false },
        { 1000, REFUSES, 0.99, true },
        { 1000, REFUSES, 0.99, false },
        { 1999, REFUSES, 0.99, false },
        { 2000, REFUSES, 0.99, true },
        { 9000, REFUSES, 0.99, true },
        { 9001, REFUSES, 0.99, false } } },
    { "a reading that moves is no frozen one",
      { { 0, REFUSES, 0.99, false },
        { 900, REFUSES, 0.98, false },
        { 1800, REFUSES, 0.97, false },
        { 2700, REFUSES, 0.98, false },
        { 3699, REFUSES, 0.98, false },
        { 3700, REFUSES, 0.98, true },
        { 3701, REFUSES, 0.97, false },
        { 4701, REFUSES, 0.97, true } } },
    { "what passes beside the gate keeps the engine alive",
      { { 0, REFUSES, 0.99, false },
        { 900, BESIDE, 0.99, false },
        { 1800, REFUSES, 0.99, false },
        { 1899, REFUSES, 0.99, false },
        { 1900, REFUSES, 0.99, true },
        { 2000, BESIDE, 0.99, false },
        { 2999, REFUSES, 0.99, false },
        { 3000, REFUSES, 0.99, true } } },
    { "an open gate forgets, also when it closes again at the same reading",
      { { 0, REFUSES, 0.99, false },
        { 500, OPEN, 0.5, false },
        { 5000, REFUSES, 0.99, false },
        { 5999, REFUSES, 0.99, false },
        { 6000, REFUSES, 0.99, true },
        { 6001, OPEN, 0.2, false },
        { 6002, BESIDE, 0.2, false },
        { 7001, REFUSES, 0.99, false } } },
    { "an interval of 0 is never",
      { { 0, NEVER, 0.99, false },
        { 1000, NEVER, 0.99, false },
        { 100000, NEVER, 0.99, false },
        { 200000, NEVER, 0.99, false },
        { 200001, REFUSES, 0.99, false },
        { 201000, NEVER, 0.99, false },
        { 201000, REFUSES, 0.99, false },
        { 201001, REFUSES, 0.99, true } } },
    { "an absent reading stands still too, and a NaN is as good a number as any",
      { { 0, REFUSES, NAN, false },
        { 1000, REFUSES, NAN, true },
        { 1500, REFUSES, -1.0, false },
        { 2500, REFUSES, -1.0, true },
        { 2501, REFUSES, 0.0, false },
        { 3501, REFUSES, 0.0, true },
        { 3502, REFUSES, -0.0, false },
        { 4502, REFUSES, -0.0, true } } },
    { "a time of another clock is past, one of another thread is not",
      { { 90000, REFUSES, 0.99, false },
        { 89500, REFUSES, 0.99, false },
        { 10, REFUSES, 0.99, true }, /* the machine was restarted */
        { 1009, REFUSES, 0.99, false },
        { 1010, REFUSES, 0.99, true },
        { 1009, REFUSES, 0.99, false },
        { 2009, REFUSES, 0.99, false },
        { 2010, REFUSES, 0.99, true } } },
};

START_TEST(a_closed_gate_probes)
{
    struct adp_probe p = { 0 };
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t now_ns = probes[_i].step[i].ms * MS;
        double reading = probes[_i].step[i].reading;
        bool through = false;
        switch (probes[_i].step[i].ask) {
        case OPEN:
            adp_probe_open(&p);
            break;
        case BESIDE:
            adp_probe_admitted(&p, now_ns);
            break;
        case REFUSES:
            through = adp_probe_due(&p, reading, now_ns, 1000 * MS);
            break;
        case NEVER:
            through = adp_probe_due(&p, reading, now_ns, 0);
            break;
        }
        ck_assert_msg(through == probes[_i].step[i].through, "%s: step %u is %s",
                      probes[_i].claim, i, through ? "through" : "refused");
    }
}
END_TEST

/* The engine of vLLM #29928: its gauge moves only when it is given work. Whatever the
 * moment, a request a second is enough to see it empty within two. */
START_TEST(a_gauge_that_only_moves_with_work_cannot_lock_the_gate)
{
    struct adp_probe p = { 0 };
    double gauge = 0.99, truth = 0.0;
    unsigned refused = 0;
    for (uint64_t ms = 0; ms < 10000; ms += 10) {
        bool admitted = gauge < 0.9;
        if (admitted)
            adp_probe_open(&p);
        else
            admitted = adp_probe_due(&p, gauge, ms * MS, 1000 * MS);
        if (admitted)
            gauge = truth;
        refused += !admitted;
    }
    ck_assert_uint_eq(refused, 100); /* from 0 to 990 ms */
}
END_TEST

/* Threads that ask at the same moments; the reading stands still. */
enum { THREADS = 4, SECONDS = 200 };
static pthread_barrier_t together;
static struct adp_probe shared;
static struct adp_hysteresis latch;

static void *ask_each_second(void *ret_through)
{
    const struct adp_hysteresis_rule rule = { .close_at = 0.9, .open_below = 0.7 };
    for (uint64_t s = 1; s <= SECONDS; s++) {
        pthread_barrier_wait(&together);
        *(unsigned *)ret_through +=
            adp_probe_due(&shared, 0.99, s * 1000 * MS, 1000 * MS);
        adp_hysteresis_closed(&latch, &rule, true, s % 2 ? 0.95 : 0.5, s * 1000 * MS);
    }
    return NULL;
}

START_TEST(of_threads_that_ask_at_once_one_is_let_through)
{
    pthread_t thread[THREADS];
    unsigned through[THREADS] = { 0 }, all = 0;
    pthread_barrier_init(&together, NULL, THREADS);
    adp_probe_due(&shared, 0.99, 0, 1000 * MS); /* closed */
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask_each_second, &through[i]),
                         0);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        all += through[i];
    }
    pthread_barrier_destroy(&together);
    ck_assert_uint_eq(all, SECONDS);
    ck_assert(!adp_hysteresis_closed(&latch, &(struct adp_hysteresis_rule) { 1, 1, 0, 0 },
                                     false, 0, 0));
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
    Suite *s = suite_create("latch");
    TCase *t = tcase_create("latch");
    tcase_add_loop_test(t, hysteresis_follows_its_rule, 0, N(hystereses));
    tcase_add_loop_test(t, a_closed_gate_probes, 0, N(probes));
    tcase_add_test(t, a_gauge_that_only_moves_with_work_cannot_lock_the_gate);
    tcase_add_test(t, of_threads_that_ask_at_once_one_is_let_through);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
