/* SPDX-License-Identifier: MIT */
/* aimd_inspired: limits worked out by hand from the source's formula. */
#include "tests/plugins/stage.h"

#include <admitperf/draw.h>

static struct stage stage;

static void setup(void)
{
    stage_open(&stage, "aimd_inspired");
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "initial_limit", "requests", 20 }, { "min_limit", "requests", 20 },
    { "max_limit", "requests", 200 },    { "backoff_ratio", "ratio", 0.9 },
    { "timeout_ms", "ms", 5000 },
};

START_TEST(it_declares_the_defaults_of_its_source)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "scalar",
                   "batch_state");
}
END_TEST

enum { T = ADP_O_TTFT, A = ADP_O_TOTAL, S = ADP_O_STATUS };

/* `with` requests are admitted at a limit, the last of them ends so, and the limit is
 * then this. */
static const struct {
    const char *name;
    double limit, lo, hi;
    unsigned with;
    struct adp_outcome end;
    double then;
} rows[] = {
    /* 2 * with >= limit: one more */
    { "half used", 20, 1, 200, 10, { .kind = ADP_DONE }, 21 },
    { "less than half", 20, 1, 200, 9, { .kind = ADP_DONE }, 20 },
    { "half of an odd limit", 21, 1, 200, 11, { .kind = ADP_DONE }, 22 },
    { "below half of it", 21, 1, 200, 10, { .kind = ADP_DONE }, 21 },
    { "at the most", 200, 1, 200, 200, { .kind = ADP_DONE }, 200 },
    /* floor(limit * 0.9) */
    { "failed", 20, 1, 200, 1, { .kind = ADP_FAILED }, 18 },
    { "failed, 19 * 0.9 = 17.1", 19, 1, 200, 19, { .kind = ADP_FAILED }, 17 },
    { "failed at the least", 20, 20, 200, 20, { .kind = ADP_FAILED }, 20 },
    { "failed just above it", 21, 20, 200, 20, { .kind = ADP_FAILED }, 20 },
    { "failed at one", 1, 1, 200, 1, { .kind = ADP_FAILED }, 1 },
    /* the first token */
    { "on time",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = T, .ttft_ms = 5000 },
      21 },
    { "late", 20, 1, 200, 10, { .kind = ADP_DONE, .present = T, .ttft_ms = 5000.1 }, 18 },
    { "a long generation is not late",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = T | A, .ttft_ms = 80, .total_ms = 90000 },
      21 },
    { "nor one of unknown first token",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = A, .total_ms = 90000 },
      21 },
    { "no number",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = T, .ttft_ms = NAN },
      21 },
    { "absent", 20, 1, 200, 10, { .kind = ADP_DONE, .ttft_ms = 9000 }, 21 },
    /* who left */
    { "left while it was being written",
      20,
      1,
      200,
      10,
      { .kind = ADP_CANCELLED, .present = T | A, .ttft_ms = 80, .total_ms = 9000 },
      21 },
    { "left while waiting, after six seconds",
      20,
      1,
      200,
      10,
      { .kind = ADP_CANCELLED, .present = A, .total_ms = 6000 },
      18 },
    { "left while waiting, at once",
      20,
      1,
      200,
      10,
      { .kind = ADP_CANCELLED, .present = A, .total_ms = 60 },
      20 },
    { "left, nothing measured", 20, 1, 200, 10, { .kind = ADP_CANCELLED }, 20 },
    /* statuses */
    { "bad request",
      20,
      1,
      200,
      10,
      { .kind = ADP_FAILED, .present = S, .http_status = 400 },
      20 },
    { "done with 404",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = S, .http_status = 404 },
      20 },
    { "too many",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = S, .http_status = 429 },
      18 },
    { "timeout",
      20,
      1,
      200,
      10,
      { .kind = ADP_FAILED, .present = S, .http_status = 408 },
      18 },
    { "unavailable",
      20,
      1,
      200,
      10,
      { .kind = ADP_DONE, .present = S, .http_status = 503 },
      18 },
    { "broke after 200",
      20,
      1,
      200,
      10,
      { .kind = ADP_FAILED, .present = S, .http_status = 200 },
      18 },
    { "status absent", 20, 1, 200, 10, { .kind = ADP_DONE, .http_status = 503 }, 21 },
    /* these teach nothing */
    { "not run", 20, 1, 200, 10, { .kind = ADP_NOT_RUN }, 20 },
    { "lost", 20, 1, 200, 10, { .kind = ADP_LOST }, 20 },
    { "not run, whatever it says",
      20,
      1,
      200,
      10,
      { .kind = ADP_NOT_RUN, .present = T, .ttft_ms = 80 },
      20 },
    { "lost, whatever it says",
      20,
      1,
      200,
      10,
      { .kind = ADP_LOST, .present = T, .ttft_ms = 9000 },
      20 },
};

/* The limit, from a margin: in flight less limit. */
static double limit_at(unsigned in_flight)
{
    struct adp_verdict w = stage_now(&stage);
    ck_assert_uint_eq(w.set & ADP_SET_MARGIN, ADP_SET_MARGIN);
    return in_flight - w.margin;
}

START_TEST(the_limit_moves_as_worked_out_by_hand)
{
    uint64_t ticket = 0;
    stage_set(&stage, "initial_limit", rows[_i].limit);
    stage_set(&stage, "min_limit", rows[_i].lo);
    stage_set(&stage, "max_limit", rows[_i].hi);
    stage_restart(&stage, NULL, 0);
    for (unsigned i = 0; i < rows[_i].with; i++) {
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_ADMIT);
        ck_assert_double_eq(w.margin, i - rows[_i].limit);
        ck_assert_uint_ne(w.ticket, 0);
        ticket = w.ticket;
    }
    stage_outcome(&stage, &rows[_i].end, ticket);
    ck_assert_msg(limit_at(rows[_i].with - 1) == rows[_i].then, "%s", rows[_i].name);
}
END_TEST

START_TEST(as_many_as_the_limit_and_no_more_are_in_flight)
{
    uint64_t ticket[20];
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 20; i++) {
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_ADMIT);
        ticket[i] = w.ticket;
    }
    for (int i = 0; i < 5; i++) {
        struct adp_verdict w = stage_now(&stage);
        ck_assert_uint_eq(w.action, ADP_DEFER);
        ck_assert_uint_eq(w.reason, ADP_R_CAPACITY_RESERVED);
        ck_assert_double_eq(w.margin, 0.0);
        ck_assert_uint_eq(w.ticket, 0);
        ck_assert_uint_eq(w.set & ADP_SET_RETRY, 0); /* nothing has landed yet */
    }
    /* Nobody reports an outcome: the host gives the tickets back as LOST. */
    for (int i = 0; i < 20; i++)
        stage_over(&stage, ADP_LOST, ticket[i]);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(stage_now(&stage).action, ADP_ADMIT);
    ck_assert_uint_eq(stage_now(&stage).action, ADP_DEFER);
}
END_TEST

START_TEST(those_deferred_get_one_turn_after_another_at_the_measured_rate)
{
    stage_set(&stage, "min_limit", 1);
    stage_set(&stage, "initial_limit", 1);
    stage_set(&stage, "max_limit", 1);
    stage_restart(&stage, NULL, 0);
    /* Twenty land within the first ten seconds: two a second. */
    for (unsigned i = 0; i < 20; i++) {
        stage_at(&stage, i * 500);
        stage_over(&stage, ADP_DONE, stage_now(&stage).ticket);
    }
    stage_at(&stage, 9999); /* the first window has not passed */
    uint64_t last = stage_now(&stage).ticket;
    ck_assert_uint_eq(stage_now(&stage).set & ADP_SET_RETRY, 0);
    stage_at(&stage, 10000);
    stage.draw = 0.25;
    double spread = adp_draw_nth(0.25, ADP_DRAW_JITTER) * 0.25;
    for (unsigned turn = 1; turn <= 70; turn++) {
        struct adp_verdict w = stage_now(&stage);
        double ms =
            turn <= 59 ? turn * 500.0 : 30000.0; /* never more than half a minute */
        ck_assert_uint_eq(w.retry_after_ms, (uint32_t)ceil(ms + ms * spread));
    }
    /* One lands: the turn that was given last is one nearer. 21 in 10 s. */
    stage_over(&stage, ADP_DONE, last);
    ck_assert_uint_eq(stage_now(&stage).action, ADP_ADMIT);
    struct adp_verdict w = stage_now(&stage);
    double ms = 59 / 2.1 * 1e3;
    ck_assert_uint_eq(w.retry_after_ms, (uint32_t)ceil(ms + ms * spread));
}
END_TEST

static const struct {
    uint32_t n;
    double initial, lo, hi, expect;
} shares[] = {
    { 0, 20, 1, 200, 20 }, { 1, 20, 1, 200, 20 },    { 3, 20, 1, 200, 6 },
    { 3, 200, 1, 20, 6 },  { 30, 20, 1, 200, 1 },    { 3, 10, 20, 200, 6 },
    { 1, 5, 20, 200, 20 }, { 1, 500, 20, 200, 200 }, { 7, 100, 100, 100, 14 },
};

START_TEST(each_instance_keeps_to_its_share_of_at_least_one)
{
    stage.n_instances = shares[_i].n;
    stage_set(&stage, "initial_limit", shares[_i].initial);
    stage_set(&stage, "min_limit", shares[_i].lo);
    stage_set(&stage, "max_limit", shares[_i].hi);
    stage_restart(&stage, NULL, 0);
    ck_assert_double_eq(limit_at(0), shares[_i].expect);
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
    for (int i = 0; i < 10; i++)
        stage_now(h);
    stage_over(h, ADP_DONE, stage_now(h).ticket); /* 21 */
}

/* Of an instance that has nothing in flight, or ten. */
static double ask(struct stage *h)
{
    double limit = -stage_now(h).margin;
    return limit < 15 ? limit + 10 : limit;
}

START_TEST(a_limit_is_believed_only_whole)
{
    stage_believes(&stage, teach, ask, 21, 20);
}
END_TEST

START_TEST(flights_of_a_life_before_are_neither_counted_nor_landed)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    stage_restart(&stage, NULL, 0);
    uint64_t before = stage_now(&stage).ticket;
    for (int i = 1; i < 20; i++)
        stage_now(&stage);
    saved_len = stage_save(&stage, saved);
    for (int life = 0; life < 3; life++) {
        stage_restart(&stage, saved, saved_len);
        ck_assert_double_eq(limit_at(0), 20);
        uint64_t own = stage_now(&stage).ticket;
        ck_assert_double_eq(limit_at(2), 20);
        stage_over(&stage, ADP_LOST, before);
        ck_assert_double_eq(limit_at(3), 20); /* three, not two */
        stage_over(&stage, ADP_FAILED, before);
        ck_assert_double_eq(limit_at(4), 20); /* at the least; but it teaches: */
        saved_len = stage_save(&stage, saved);
        before = own;
    }
    stage_set(&stage, "min_limit", 1);
    stage_restart(&stage, saved, saved_len);
    stage_over(&stage, ADP_FAILED, before);
    ck_assert_double_eq(limit_at(0), 18);
}
END_TEST

START_TEST(a_saved_limit_keeps_to_the_bounds_in_force)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    stage_restart(&stage, NULL, 0);
    saved_len = stage_save(&stage, saved);
    stage_set(&stage, "min_limit", 1);
    stage_set(&stage, "max_limit", 7);
    stage_restart(&stage, saved, saved_len);
    ck_assert_double_eq(limit_at(0), 7);
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
    Suite *s = suite_create("aimd_inspired");
    TCase *t = tcase_create("aimd_inspired");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_the_defaults_of_its_source);
    tcase_add_loop_test(t, the_limit_moves_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, as_many_as_the_limit_and_no_more_are_in_flight);
    tcase_add_test(t, those_deferred_get_one_turn_after_another_at_the_measured_rate);
    tcase_add_loop_test(t, each_instance_keeps_to_its_share_of_at_least_one, 0,
                        sizeof shares / sizeof shares[0]);
    tcase_add_test(t, a_least_above_the_most_is_refused);
    tcase_add_test(t, a_limit_is_believed_only_whole);
    tcase_add_test(t, flights_of_a_life_before_are_neither_counted_nor_landed);
    tcase_add_test(t, a_saved_limit_keeps_to_the_bounds_in_force);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
