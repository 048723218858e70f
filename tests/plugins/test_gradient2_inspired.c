/* SPDX-License-Identifier: MIT */
/* gradient2_inspired: limits worked out by hand from the source's formula, window by
 * window. */
#include "tests/plugins/stage.h"

static struct stage stage;
static uint64_t clock_ms;
static uint64_t held[2000]; /* tickets in flight */

static void setup(void)
{
    stage_open(&stage, "gradient2_inspired");
    clock_ms = 0;
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "initial_limit", "requests", 20 },   { "min_limit", "requests", 20 },
    { "max_limit", "requests", 200 },      { "smoothing", "ratio", 0.2 },
    { "queue_size", "requests", 4 },       { "long_window", "windows", 600 },
    { "rtt_tolerance", "ratio", 1.5 },     { "window_ms", "ms", 1000 },
    { "window_requests", "requests", 10 },
};

START_TEST(it_declares_the_defaults_of_its_source)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "scalar",
                   "batch_state");
}
END_TEST

/* Whole requests, as many as may be in flight; asked while `in_flight` are. */
static double limit_at(unsigned in_flight)
{
    struct adp_verdict w = stage_now(&stage);
    if (w.ticket) /* only looking */
        stage_over(&stage, ADP_NOT_RUN, w.ticket);
    return in_flight - w.margin;
}

/* Ten requests whose first token took `ms`, the last of them a second after the first;
 * `with` are in flight when each of them begins, it among them. */
static void window(double ms, unsigned with)
{
    for (unsigned i = 0; i + 1 < with; i++)
        held[i] = stage_now(&stage).ticket;
    for (unsigned i = 0; i < 10; i++) {
        stage_at(&stage, clock_ms + (i < 9 ? i * 100 : 1000));
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_ne(w.ticket, 0);
        const struct adp_outcome o = { .kind = ADP_DONE,
                                       .present = ADP_O_TTFT,
                                       .ttft_ms = ms };
        stage_outcome(&stage, &o, w.ticket);
    }
    for (unsigned i = 0; i + 1 < with; i++)
        stage_over(&stage, ADP_LOST, held[i]);
    clock_ms += 1000;
}

enum { STEPS = 6 };

static const struct {
    const char *name;
    double initial, smoothing, tolerance, queue, long_window;
    struct {
        double ms;
        unsigned with;
        double limit; /* after the window; the policy shows its whole part */
    } step[STEPS];
} rows[] = {
    /* long/short = 1, g = 1: L <- 0.8 L + 0.2 (L + 4) = L + 0.8 */
    { "steady: it grows by smoothing * queue_size",
      20,
      0.2,
      1.5,
      4,
      600,
      { { 100, 20, 20.8 }, { 100, 20, 21.6 }, { 100, 20, 22.4 }, { 100, 20, 23.2 } } },
    /* third window: long = 500/3, g = 1.5 * 500/3 / 300 = 0.8333: 21.6 * 0.8333 + 4 = 22,
     * 0.8 * 21.6 + 0.2 * 22 = 21.68. Fourth: long = 1500/4, g = 0.5625: 16.195, 20.583.
     * Fifth: long = 101500/5, g = 0.3045, taken as 0.5: 14.29150, 19.32470. Sixth: long =
     * 101501/6, so far above that long/short > 2, g = 1: 20.12470 */
    { "rising waits shrink it, by half of the smoothing at most",
      20,
      0.2,
      1.5,
      4,
      600,
      { { 100, 20, 20.8 },
        { 100, 20, 21.6 },
        { 300, 20, 21.68 },
        { 1000, 20, 20.583 },
        { 100000, 20, 19.3247 },
        { 1, 19, 20.1247 } } },
    /* no smoothing: L <- g L + 4 */
    { "without smoothing",
      20,
      1,
      1.5,
      4,
      600,
      { { 100, 20, 24 }, { 100, 20, 28 }, { 300, 20, 27.33333 } } },
    { "without tolerance a rise is felt at once: long = 150, g = 150/200",
      100,
      1,
      1,
      0,
      600,
      { { 100, 100, 100 }, { 200, 100, 75 } } },
    { "with tolerance it is not: 1.5 * 150/200 > 1",
      100,
      1,
      1.5,
      0,
      600,
      { { 100, 100, 100 }, { 200, 100, 100 } } },
    { "less than half used: nothing moves",
      20,
      1,
      1.5,
      4,
      600,
      { { 100, 9, 20 }, { 1000, 9, 20 } } },
    { "half used: it moves", 20, 1, 1.5, 4, 600, { { 100, 10, 24 } } },
    { "it ends at the most",
      199,
      1,
      1.5,
      4,
      600,
      { { 100, 199, 200 }, { 100, 200, 200 } } },
    { "and at the least",
      6,
      1,
      1,
      0,
      600,
      { { 100, 6, 6 }, { 1e6, 6, 3 }, { 1e9, 3, 2 } } },
};

START_TEST(the_limit_moves_as_worked_out_by_hand)
{
    stage_set(&stage, "min_limit", 2);
    stage_set(&stage, "initial_limit", rows[_i].initial);
    stage_set(&stage, "smoothing", rows[_i].smoothing);
    stage_set(&stage, "rtt_tolerance", rows[_i].tolerance);
    stage_set(&stage, "queue_size", rows[_i].queue);
    stage_set(&stage, "long_window", rows[_i].long_window);
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < STEPS && rows[_i].step[i].ms > 0; i++) {
        window(rows[_i].step[i].ms, rows[_i].step[i].with);
        ck_assert_msg(limit_at(0) == floor(rows[_i].step[i].limit), "%s: window %d: %g",
                      rows[_i].name, i, limit_at(0));
    }
}
END_TEST

/* Ten windows of 100 warm the mean up; it then follows by 2/(600+1) a window. */
START_TEST(the_long_mean_is_exponential_after_ten_windows)
{
    stage_set(&stage, "initial_limit", 1000);
    stage_set(&stage, "max_limit", 1e6);
    stage_set(&stage, "smoothing", 1);
    stage_set(&stage, "queue_size", 0);
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 10; i++)
        window(100, 1000);
    ck_assert_double_eq(limit_at(0), 1000);
    /* long = 100 + 100 * 2/601 = 100.33278, g = 1.5 * 100.33278 / 200 = 0.75249584 */
    window(200, 1000);
    ck_assert_double_eq(limit_at(0), 752);
}
END_TEST

START_TEST(after_an_overload_the_long_mean_comes_down_faster)
{
    stage_set(&stage, "initial_limit", 1000);
    stage_set(&stage, "max_limit", 1e6);
    stage_set(&stage, "smoothing", 1);
    stage_set(&stage, "queue_size", 0);
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 10; i++)
        window(100, 1000);
    /* long = 100 - 60 * 2/601 = 99.800333, 2.495 times 40: then 0.95 of it, 94.810316 */
    window(40, 1000);
    ck_assert_double_eq(limit_at(0), 1000);
    /* long = 94.810316 + 105.189684 * 2/601 = 95.160365, g = 1.5 * that / 200 = 0.7137027
     * (without the step down 0.7510) */
    window(200, 1000);
    ck_assert_double_eq(limit_at(0), 713);
}
END_TEST

/* --- what goes into a window --- */

static void end(uint64_t ms, const struct adp_outcome *o)
{
    stage_at(&stage, ms);
    stage_outcome(&stage, o, stage_now(&stage).ticket);
}

static const struct adp_outcome quick = { .kind = ADP_DONE,
                                          .present = ADP_O_TTFT,
                                          .ttft_ms = 100 };

static const struct adp_outcome slow = { .kind = ADP_DONE,
                                         .present = ADP_O_TTFT,
                                         .ttft_ms = 300 };

START_TEST(a_window_goes_on_until_it_has_ten_requests_and_a_second)
{
    stage_set(&stage, "initial_limit", 1);
    stage_set(&stage, "min_limit", 1);
    stage_set(&stage, "smoothing", 1);
    stage_restart(&stage, NULL, 0);
    for (unsigned i = 0; i < 9; i++) { /* one in ten seconds */
        end(i * 10000, &quick);
        ck_assert_double_eq(limit_at(0), 1);
    }
    end(90000, &quick);
    ck_assert_double_eq(limit_at(0), 5);
    for (unsigned i = 0; i < 50; i++) { /* fifty in a moment; 2.5 are half of 5 */
        uint64_t two[] = { stage_now(&stage).ticket, stage_now(&stage).ticket };
        end(100000, &quick);
        stage_over(&stage, ADP_LOST, two[0]);
        stage_over(&stage, ADP_LOST, two[1]);
        ck_assert_double_eq(limit_at(0), 5);
    }
    end(100999, &quick);
    ck_assert_double_eq(limit_at(0), 5);
    end(101000, &quick);
    ck_assert_double_eq(limit_at(0), 9);
}
END_TEST

/* Ten times this beside ten of 300 ms: the window's mean is 300 (it is not counted) or 400.
 * The window before was of 100, there is no tolerance and no queue: L <- g L. */
static const struct {
    const char *name;
    struct adp_outcome o;
    double mean;
} samples[] = {
    { "done in 500", { .kind = ADP_DONE, .present = ADP_O_TTFT, .ttft_ms = 500 }, 400 },
    { "failed after a first token",
      { .kind = ADP_FAILED, .present = ADP_O_TTFT, .ttft_ms = 500 },
      400 },
    { "left after a first token",
      { .kind = ADP_CANCELLED,
        .present = ADP_O_TTFT | ADP_O_TOTAL,
        .ttft_ms = 500,
        .total_ms = 9000 },
      400 },
    { "left after waiting 500",
      { .kind = ADP_CANCELLED, .present = ADP_O_TOTAL, .total_ms = 500 },
      400 },
    { "timed out after 500",
      { .kind = ADP_FAILED, .present = ADP_O_TOTAL, .total_ms = 500 },
      400 },
    { "left sooner than the mean: how long it would have been is not known",
      { .kind = ADP_CANCELLED, .present = ADP_O_TOTAL, .total_ms = 99 },
      300 },
    { "failed at once: an engine that is gone is not a quick one",
      { .kind = ADP_FAILED, .present = ADP_O_TOTAL, .total_ms = 1 },
      300 },
    { "done, nothing measured", { .kind = ADP_DONE }, 300 },
    { "done, how long in all is no matter",
      { .kind = ADP_DONE, .present = ADP_O_TOTAL, .total_ms = 90000 },
      300 },
    { "too short to be true",
      { .kind = ADP_DONE, .present = ADP_O_TTFT, .ttft_ms = 0.09 },
      300 },
    { "no number", { .kind = ADP_DONE, .present = ADP_O_TTFT, .ttft_ms = NAN }, 300 },
    { "infinite", { .kind = ADP_DONE, .present = ADP_O_TTFT, .ttft_ms = INFINITY }, 300 },
    { "negative", { .kind = ADP_DONE, .present = ADP_O_TTFT, .ttft_ms = -5 }, 300 },
    { "not run", { .kind = ADP_NOT_RUN, .present = ADP_O_TTFT, .ttft_ms = 500 }, 300 },
    { "lost", { .kind = ADP_LOST, .present = ADP_O_TTFT, .ttft_ms = 500 }, 300 },
};

START_TEST(only_times_to_a_first_token_are_counted)
{
    stage_set(&stage, "initial_limit", 1000);
    stage_set(&stage, "min_limit", 1);
    stage_set(&stage, "max_limit", 1000);
    stage_set(&stage, "smoothing", 1);
    stage_set(&stage, "rtt_tolerance", 1);
    stage_set(&stage, "queue_size", 0);
    stage_restart(&stage, NULL, 0);
    window(100, 600);
    for (unsigned i = 0; i < 600; i++)
        held[i] = stage_now(&stage).ticket;
    for (unsigned i = 0; i < 10; i++)
        end(clock_ms + i, &samples[_i].o);
    for (unsigned i = 0; i < 10; i++)
        end(clock_ms + (i < 9 ? 500 : 1500), &slow);
    double mean = samples[_i].mean, long_ms = (100 + mean) / 2;
    double then = floor(1000 * (long_ms / mean));
    ck_assert_msg(limit_at(600) == then, "%s: %g, not %g", samples[_i].name,
                  limit_at(600), then);
}
END_TEST

START_TEST(as_many_as_the_limit_and_no_more_are_in_flight)
{
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 20; i++) {
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_ADMIT);
        held[i] = w.ticket;
    }
    struct adp_verdict w = stage_now(&stage);
    ck_assert_uint_eq(w.action, ADP_DEFER);
    ck_assert_uint_eq(w.reason, ADP_R_CAPACITY_RESERVED);
    ck_assert_double_eq(w.margin, 0.0);
    for (int i = 0; i < 20; i++)
        stage_over(&stage, ADP_LOST, held[i]);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(stage_now(&stage).action, ADP_ADMIT);
    ck_assert_uint_eq(stage_now(&stage).action, ADP_DEFER);
}
END_TEST

START_TEST(each_instance_keeps_to_its_share)
{
    stage.n_instances = 4;
    stage_set(&stage, "smoothing", 1);
    stage_restart(&stage, NULL, 0);
    ck_assert_double_eq(limit_at(0), 5); /* 20 / 4 */
    window(100, 5);
    ck_assert_double_eq(limit_at(0), 6); /* 5 + 4/4 */
}
END_TEST

START_TEST(a_least_above_the_most_is_refused)
{
    stage_set(&stage, "max_limit", 10);
    ck_assert(!stage_try(&stage, NULL, 0));
    ck_assert_str_eq(stage.error, "min_limit is above max_limit");
}
END_TEST

static void teach(struct stage *h)
{
    stage_set(h, "smoothing", 1);
    clock_ms = 0;
    stage_restart(h, NULL, 0);
    window(100, 20);
}

static double ask(struct stage *h)
{
    (void)h;
    return limit_at(0); /* 24, not 20 */
}

START_TEST(a_limit_is_believed_only_whole)
{
    stage_believes(&stage, teach, ask, 24, 20);
}
END_TEST

START_TEST(a_restored_instance_goes_on_within_its_window)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    stage_set(&stage, "smoothing", 1);
    stage_restart(&stage, NULL, 0);
    for (unsigned i = 0; i < 10; i++)
        held[i] = stage_now(&stage).ticket;
    for (unsigned i = 0; i < 9; i++)
        end(i * 100, &quick);
    saved_len = stage_save(&stage, saved);
    stage_restart(&stage, saved, saved_len);
    end(1000, &quick); /* the tenth */
    ck_assert_double_eq(limit_at(0), 24);
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
    Suite *s = suite_create("gradient2_inspired");
    TCase *t = tcase_create("gradient2_inspired");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_the_defaults_of_its_source);
    tcase_add_loop_test(t, the_limit_moves_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, the_long_mean_is_exponential_after_ten_windows);
    tcase_add_test(t, after_an_overload_the_long_mean_comes_down_faster);
    tcase_add_test(t, a_window_goes_on_until_it_has_ten_requests_and_a_second);
    tcase_add_loop_test(t, only_times_to_a_first_token_are_counted, 0,
                        sizeof samples / sizeof samples[0]);
    tcase_add_test(t, as_many_as_the_limit_and_no_more_are_in_flight);
    tcase_add_test(t, each_instance_keeps_to_its_share);
    tcase_add_test(t, a_least_above_the_most_is_refused);
    tcase_add_test(t, a_limit_is_believed_only_whole);
    tcase_add_test(t, a_restored_instance_goes_on_within_its_window);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
