/* SPDX-License-Identifier: MIT */
/* codel_wait_inspired: when it defers and when not, step by step along RFC 8289. Ten
 * requests a second finish, so that each waiting request stands for 100 ms; the target is
 * 500 ms, the interval a second. */
#include "tests/plugins/stage.h"

#include <admitperf/draw.h>

enum { WAITING };

static struct stage stage;
static uint64_t clock_ms;  /* of stage.now_ns, from the beginning */
static uint64_t finish_ms; /* the next request finishes, every `each_ms`; 0: none */
static uint64_t each_ms;

static void setup(void)
{
    stage_open(&stage, "codel_wait_inspired");
    stage_set(&stage, "target_ms", 500);
    stage_set(&stage, "interval_ms", 1000);
    clock_ms = 0;
    finish_ms = 50;
    each_ms = 100;
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "target_ms", "ms", NAN },
    { "interval_ms", "ms", 0 },
    { "probe_ms", "ms", 5000 },
};

START_TEST(it_declares_what_it_takes)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "scalar",
                   "wait_estimate");
    ck_assert_str_eq(adp_loaded_signal(stage.loaded, WAITING).name, "queue_depth");
}
END_TEST

/* Requests finish on the way, between the steps' times. */
static void run_to(uint64_t ms)
{
    for (; each_ms && finish_ms < ms; finish_ms += each_ms) {
        stage_at(&stage, finish_ms);
        stage_over(&stage, ADP_DONE, 1);
    }
    clock_ms = ms;
    stage_at(&stage, ms);
}

/* The rate of finishing is measured once ten seconds have passed: times in the tables
 * are from then on. */
enum { MEASURED_MS = 10000 };

static void begin(void)
{
    stage_restart(&stage, NULL, 0);
    stage.signal[WAITING] = 0;
    stage_now(&stage);
    run_to(MEASURED_MS);
}

static struct adp_verdict at(uint64_t ms, double waiting)
{
    run_to(MEASURED_MS + ms);
    stage.signal[WAITING] = waiting;
    struct adp_verdict w = stage_now(&stage);
    ck_assert_uint_eq(w.ticket, 1);
    return w;
}

enum { STEPS = 20, NO_MARGIN = 12345 };
#define ABSENT NAN

static const struct {
    const char *name;
    uint32_t n_instances;
    struct {
        uint64_t ms;
        double waiting;
        bool deferred;
        double margin;
    } step[STEPS];
} rows[] = {
    { "a short queue",
      1,
      { { 0, 0, false, -500 }, { 1000, 4, false, -100 }, { 5000, 4, false, -100 } } },
    { "one waiting request is no queue, however long it waits",
      1,
      { { 0, 1, false, -500 }, { 1000, 1, false, -500 }, { 9000, 1, false, -500 } } },
    /* The margin is what is missing: to the target, to the interval, to the next one. */
    { "a long queue is let be for an interval",
      1,
      { { 0, 6, false, -1000 },
        { 800, 6, false, -200 },
        { 900, 4, false, -100 },
        { 1000, 6, false, -1000 },
        { 1900, 6, false, -100 } } },
    /* 1000/sqrt(1) after 1000: 2000; sqrt(2): 2707.1; sqrt(3): 3284.5; sqrt(4): 3784.5 */
    { "and then met at a growing pace",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 1100, 6, false, -900 },
        { 1999, 6, false, -1 },
        { 2000, 6, true, 0 },
        { 2700, 6, false, -7.106781 },
        { 2800, 6, true, 92.893219 },
        { 3200, 6, false, -84.457050 },
        { 3300, 6, true, 15.542950 },
        { 3700, 6, false, -84.457050 },
        { 3800, 6, true, 15.542950 } } },
    { "until it is short",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 2000, 6, true, 0 },
        { 2800, 6, true, 92.893219 },
        { 2900, 4, false, -100 },
        { 2901, 6, false, -1000 },
        { 3900, 6, false, -1 } } },
    /* Three were deferred in the last spell, one of them at its entry: 2 = 3 - 1 more
     * than one, and it ended a moment ago: on with 2. 3901 + 707.1 = 4608.1 */
    { "soon after, it takes the pace up again",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 2000, 6, true, 0 },
        { 2800, 6, true, 92.893219 },
        { 2900, 4, false, -100 },
        { 2901, 6, false, -1000 },
        { 3901, 6, true, 0 },
        { 4600, 6, false, -8.106781 },
        { 4609, 6, true, 0.893219 } } },
    /* Deferred last at 2707.1, next due at 3284.5; 16 intervals after that: 19284.5 */
    { "long after, it begins again with one: the next is a whole interval away",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 2000, 6, true, 0 },
        { 2800, 6, true, 92.893219 },
        { 2900, 4, false, -100 },
        { 18300, 6, false, -1000 },
        { 19300, 6, true, 0 },
        { 20200, 6, false, -100 },
        { 20300, 6, true, 0 } } },
    { "just before that, it does not",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 2000, 6, true, 0 },
        { 2800, 6, true, 92.893219 },
        { 2900, 4, false, -100 },
        { 18200, 6, false, -1000 },
        { 19200, 6, true, 0 },
        { 19900, 6, false, -7.106781 },
        { 19908, 6, true, 0.893219 } } },
    { "two at the entry are not more than one: delta is 1",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 2000, 6, true, 0 },
        { 2100, 4, false, -100 },
        { 2101, 6, false, -1000 },
        { 3101, 6, true, 0 },
        { 4100, 6, false, -1 },
        { 4101, 6, true, 0 } } },
    { "a reading that goes ends it",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 1999, ABSENT, false, NO_MARGIN },
        { 2000, 6, false, -1000 },
        { 2999, 6, false, -1 } } },
    /* The reading is what it was at the last refusal, long ago: but nothing froze. */
    { "the first of a new spell is no probe",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 1100, 4, false, -100 },
        { 1200, 6, false, -1000 },
        { 20000, 6, true, 0 } } },
    /* Nobody came for nearly five seconds: the next is deferred, and it does not make up
     * for those that it would have deferred: from 5900 on, 5900 + 707.1 */
    { "it has no arrears of more than an interval",
      1,
      { { 0, 6, false, -1000 },
        { 1000, 6, true, 0 },
        { 5900, 6, true, 100 },
        { 5901, 6, false, -706.106781 },
        { 6608, 6, true, 0.893219 } } },
    { "but of less: due at 2000, at 2707.1 and at 3284.5",
      1,
      { { 0, 8, false, -1000 },
        { 1000, 8, true, 0 },
        { 2900, 8, true, 300 },
        { 2901, 8, true, 193.893219 },
        { 2902, 8, false, -382.457050 } } },
    /* Four in front of one queue: 40 a second finish, of which this one sees ten. 24
     * waiting are 600 ms. The second is due 1000 / sqrt(1/4) after the first, the third
     * 1000 / sqrt(2/4) after it. */
    { "one of four takes a quarter of it upon itself",
      4,
      { { 0, 19, false, -25 },
        { 1, 24, false, -1000 },
        { 1001, 24, true, 0 },
        { 3000, 24, false, -1 },
        { 3001, 24, true, 0 },
        { 4400, 24, false, -15.213562 },
        { 4416, 24, true, 0.786438 } } },
};

START_TEST(it_follows_the_state_machine)
{
    stage.n_instances = rows[_i].n_instances;
    begin();
    for (int i = 0; i < STEPS && (i == 0 || rows[_i].step[i].ms); i++) {
        struct adp_verdict w = at(rows[_i].step[i].ms, rows[_i].step[i].waiting);
        const char *name = rows[_i].name;
        bool deferred = w.action != ADP_ADMIT;
        ck_assert_msg(deferred == rows[_i].step[i].deferred, "%s: step %d", name, i);
        if (deferred) {
            ck_assert_uint_eq(w.action, ADP_DEFER);
            ck_assert_uint_eq(w.reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
            ck_assert_uint_eq(w.binding, WAITING);
        }
        bool has = w.set & ADP_SET_MARGIN;
        ck_assert_msg(has == (rows[_i].step[i].margin != NO_MARGIN), "%s: step %d", name,
                      i);
        /* The wait itself is exact to rounding, the steps to a nanosecond. */
        if (has)
            ck_assert_msg(fabs(w.margin - rows[_i].step[i].margin) < 1e-5,
                          "%s: step %d: margin %.6f", name, i, w.margin);
    }
}
END_TEST

START_TEST(the_retry_time_is_what_the_queue_needs_to_be_short)
{
    begin();
    stage.draw = 0.75;
    at(0, 26);
    struct adp_verdict w = at(1000, 26); /* 2600 ms, 2100 above the target */
    double ms = 2100 * (1 + 0.25 * adp_draw_nth(0.75, ADP_DRAW_JITTER));
    ck_assert_uint_eq(w.set & ADP_SET_RETRY, ADP_SET_RETRY);
    ck_assert_uint_ge(w.retry_after_ms, (uint32_t)ms);
    ck_assert_uint_le(w.retry_after_ms, (uint32_t)ms + 2);
    w = at(2000, 1e6); /* half a minute at most */
    ck_assert_uint_ge(w.retry_after_ms, 30000);
    ck_assert_uint_le(w.retry_after_ms, 37500);
}
END_TEST

START_TEST(without_an_interval_it_is_twenty_targets)
{
    stage_set(&stage, "interval_ms", 0);
    begin();
    ck_assert_double_eq(at(0, 6).margin, -10000);
    ck_assert_uint_eq(at(9999, 6).action, ADP_ADMIT);
    ck_assert_uint_eq(at(10000, 6).action, ADP_DEFER);
}
END_TEST

START_TEST(nothing_is_known_before_the_drain_was_measured)
{
    stage_restart(&stage, NULL, 0);
    for (uint64_t ms = 0; ms < MEASURED_MS; ms += 500) {
        run_to(ms);
        stage.signal[WAITING] = 1e6;
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_ADMIT);
        ck_assert_uint_eq(w.set & ADP_SET_MARGIN, 0);
    }
    ck_assert_double_eq(at(0, 1e6).margin, -1000);
    ck_assert_uint_eq(at(1000, 1e6).action, ADP_DEFER);
}
END_TEST

START_TEST(an_engine_that_finishes_nothing_is_slow_not_unknown)
{
    each_ms = 0;
    begin();
    /* Two waiting: at one in ten seconds they wait for twenty. No retry time: nothing
     * drains. */
    ck_assert_double_eq(at(0, 2).margin, -1000);
    struct adp_verdict w = at(1000, 2);
    ck_assert_uint_eq(w.action, ADP_DEFER);
    ck_assert_uint_eq(w.set & ADP_SET_RETRY, 0);
}
END_TEST

START_TEST(only_requests_that_ran_are_a_drain)
{
    stage_restart(&stage, NULL, 0);
    stage.signal[WAITING] = 0;
    stage_now(&stage);
    for (unsigned i = 0; i < 100; i++) {
        stage_at(&stage, i * 100);
        stage_over(&stage, i % 2 ? ADP_NOT_RUN : ADP_LOST, 1);
    }
    for (unsigned i = 0; i < 3; i++) /* three in ten seconds */
        stage_over(&stage, ADP_DONE + i, 1);
    each_ms = 0;
    stage_set(&stage, "target_ms", 20000);
    ck_assert_double_eq_tol(at(0, 3).margin, -10000, 1e-6); /* 3 / 0.3 a second */
}
END_TEST

/* The gauge froze at 6 when the engine had nothing to do, and every request is due. */
START_TEST(a_frozen_reading_lets_one_through_in_five_seconds)
{
    stage_set(&stage, "interval_ms", 0.001);
    begin();
    at(0, 6);
    unsigned admitted = 0;
    for (uint64_t ms = 100; ms <= 20000; ms += 100) {
        struct adp_verdict w = at(ms, 6);
        admitted += w.action == ADP_ADMIT;
        if (w.action == ADP_ADMIT) {
            ck_assert_uint_eq(ms, 100 + 5000 * admitted);
            ck_assert_uint_eq(w.set & ADP_SET_MARGIN, 0);
        }
    }
    ck_assert_uint_eq(admitted, 3);
}
END_TEST

START_TEST(a_reading_that_moves_needs_no_probe)
{
    stage_set(&stage, "interval_ms", 0.001);
    begin();
    at(0, 6);
    for (uint64_t ms = 100; ms <= 20000; ms += 100)
        ck_assert_uint_eq(at(ms, ms / 4000 % 2 ? 7 : 6).action, ADP_DEFER);
}
END_TEST

static void teach(struct stage *h)
{
    (void)h;
    clock_ms = 0;
    finish_ms = 50;
    begin();
    at(0, 6);
    at(1000, 6);
    run_to(MEASURED_MS + 2000);
}

static double ask(struct stage *h)
{
    h->signal[WAITING] = 6;
    return stage_now(h).action; /* DEFER; a fresh one knows no drain */
}

START_TEST(a_state_is_believed_only_whole)
{
    stage_believes(&stage, teach, ask, ADP_DEFER, ADP_ADMIT);
}
END_TEST

START_TEST(a_state_of_another_clock_begins_with_measuring)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    teach(&stage);
    saved_len = stage_save(&stage, saved);
    stage_restart(&stage, saved, saved_len);
    stage.signal[WAITING] = 6;
    for (uint64_t s = 1; s <= 10; s++) {
        stage.now_ns = s * SECOND; /* the machine was restarted */
        for (int i = 0; i < 10; i++)
            stage_over(&stage, ADP_DONE, 1);
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_ADMIT);
        ck_assert_uint_eq(w.set & ADP_SET_MARGIN, 0);
    }
    stage.now_ns = 11 * SECOND;
    ck_assert_double_eq(stage_now(&stage).margin, -1000);
}
END_TEST

START_TEST(its_page_tells_its_parameters_and_an_example_that_opens)
{
    stage_page(&stage);
}
END_TEST

START_TEST(it_bears_whatever_comes)
{
    stage_restart(&stage, NULL, 0);
    stage_storm(&stage);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codel_wait_inspired");
    TCase *t = tcase_create("codel_wait_inspired");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_what_it_takes);
    tcase_add_loop_test(t, it_follows_the_state_machine, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, the_retry_time_is_what_the_queue_needs_to_be_short);
    tcase_add_test(t, without_an_interval_it_is_twenty_targets);
    tcase_add_test(t, nothing_is_known_before_the_drain_was_measured);
    tcase_add_test(t, an_engine_that_finishes_nothing_is_slow_not_unknown);
    tcase_add_test(t, only_requests_that_ran_are_a_drain);
    tcase_add_test(t, a_frozen_reading_lets_one_through_in_five_seconds);
    tcase_add_test(t, a_reading_that_moves_needs_no_probe);
    tcase_add_test(t, a_state_is_believed_only_whole);
    tcase_add_test(t, a_state_of_another_clock_begins_with_measuring);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
