/* SPDX-License-Identifier: MIT */
/* success_rate: probabilities worked out by hand from the source's formula. */
#include "tests/plugins/stage.h"

static struct stage stage;

static void setup(void)
{
    stage_open(&stage, "success_rate");
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "sampling_window_s", "s", 30 },
    { "sr_threshold", "ratio", 0.95 },
    { "aggression", "", 1 },
    { "rps_threshold", "requests/s", 0 },
    { "max_rejection_probability", "ratio", 0.8 },
};

START_TEST(it_declares_the_defaults_of_its_source)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "scalar",
                   "rate");
}
END_TEST

static void outcomes(unsigned n, uint32_t kind)
{
    while (n--)
        stage_over(&stage, kind, 1);
}

static double p_now(void)
{
    stage.draw = 0.9999999;
    struct adp_verdict w = stage_now(&stage);
    ck_assert_uint_eq(w.set & ADP_SET_P, ADP_SET_P);
    ck_assert_uint_eq(w.set & ADP_SET_RETRY, 0);
    ck_assert_uint_eq(w.ticket, 1);
    ck_assert_uint_eq(w.action, ADP_ADMIT);
    return w.p;
}

/* p = min(most, max(0, (n - s / threshold) / (n + 1)) ^ (1 / aggression)) */
static const struct {
    unsigned n, s;
    double threshold, aggression, most, p;
} rows[] = {
    { 1000, 1000, 0.95, 1, 0.8, 0 },
    { 1000, 960, 0.95, 1, 0.8, 0 },
    { 1000, 900, 0.95, 1, 0.8, 0.0525790 }, /* (1000 - 947.36842) / 1001 */
    { 1000, 800, 0.95, 1, 0.8, 0.1577370 }, /* (1000 - 842.10526) / 1001 */
    { 1000, 500, 0.95, 1, 0.8, 0.4732110 }, /* (1000 - 526.31579) / 1001 */
    { 1000, 200, 0.95, 1, 0.8, 0.7886850 }, /* (1000 - 210.52632) / 1001 */
    { 1000, 100, 0.95, 1, 0.8, 0.8 },       /* 0.8938 */
    { 1000, 0, 0.95, 1, 0.8, 0.8 },
    { 1000, 0, 0.95, 1, 1.0, 0.9990010 },   /* 1000 / 1001: never 1 */
    { 1000, 800, 0.95, 2, 0.8, 0.3971612 }, /* sqrt(0.1577370) */
    { 1000, 500, 0.50, 1, 0.8, 0 },         /* at the threshold: 1000 - 1000 */
    { 1000, 499, 0.50, 1, 0.8, 0.0019980 }, /* 2 / 1001 */
    { 1000, 999, 1.0, 1, 0.8, 0.0009990 },  /* 1 / 1001 */
    { 1, 0, 0.95, 1, 0.8, 0.5 },
    { 0, 0, 0.95, 1, 0.8, 0 },
    { 1000, 900, 0.95, 1, 0.0, 0 },
};

START_TEST(the_probability_is_as_worked_out_by_hand)
{
    stage_set(&stage, "sr_threshold", rows[_i].threshold);
    stage_set(&stage, "aggression", rows[_i].aggression);
    stage_set(&stage, "max_rejection_probability", rows[_i].most);
    stage_restart(&stage, NULL, 0);
    outcomes(rows[_i].s, ADP_DONE);
    outcomes(rows[_i].n - rows[_i].s, ADP_FAILED);
    ck_assert_double_eq_tol(p_now(), rows[_i].p, 5e-8);

    /* The margin: how far the share of successes is from the threshold while nothing can
     * be refused, and then how far the draw is from p. */
    struct adp_verdict w = stage_now(&stage);
    ck_assert(!!(w.set & ADP_SET_MARGIN) == (rows[_i].n > 0));
    double off = rows[_i].threshold - (double)rows[_i].s / rows[_i].n;
    if (rows[_i].n && w.p <= 0.0)
        ck_assert_double_eq_tol(w.margin, off < 0 ? off : -0x1p-53, 1e-15);
    else if (rows[_i].n)
        ck_assert_double_eq_tol(w.margin, w.p - stage.draw, 1e-15);

    /* And a draw below p refuses. */
    stage.draw = 0.0;
    w = stage_now(&stage);
    ck_assert(w.action == (w.p > 0.0 ? ADP_REJECT : ADP_ADMIT));
    if (w.p <= 0.0)
        return;
    ck_assert_uint_eq(w.reason, ADP_R_CAPACITY_RESERVED);
    ck_assert_uint_eq(w.binding, ADP_NONE);
    ck_assert_uint_eq(w.ticket, 1); /* one that runs all the same tells as much as any */
    stage.draw = nextafter(w.p, 0.0);
    ck_assert_uint_eq(stage_now(&stage).action, ADP_REJECT);
    stage.draw = w.p;
    ck_assert_uint_eq(stage_now(&stage).action, ADP_ADMIT);
}
END_TEST

/* Issue: 0.053 0.158 0.473 0.789. The refused share over many draws is p. */
START_TEST(the_refused_share_is_the_probability)
{
    stage_restart(&stage, NULL, 0);
    outcomes(800, ADP_DONE);
    outcomes(200, ADP_FAILED);
    unsigned refused = 0;
    for (unsigned i = 0; i < 100000; i++) {
        stage.draw = i / 1e5;
        refused += stage_now(&stage).action == ADP_REJECT;
    }
    ck_assert_uint_eq(refused, 15774); /* draws 0, 0.00001, … 0.15773 */
}
END_TEST

enum { S = ADP_O_STATUS, T = ADP_O_TTFT };

static const struct {
    const char *name;
    struct adp_outcome o;
    int counts; /* 1: a success, 0: a failure, -1: neither */
} kinds[] = {
    { "done", { .kind = ADP_DONE }, 1 },
    { "done, 200", { .kind = ADP_DONE, .present = S, .http_status = 200 }, 1 },
    { "done, 404: fewer requests would not help",
      { .kind = ADP_DONE, .present = S, .http_status = 404 },
      1 },
    { "done, 499", { .kind = ADP_DONE, .present = S, .http_status = 499 }, 1 },
    { "done, 500", { .kind = ADP_DONE, .present = S, .http_status = 500 }, 0 },
    { "done, absent status", { .kind = ADP_DONE, .http_status = 503 }, 1 },
    { "failed", { .kind = ADP_FAILED }, 0 },
    { "failed, 400", { .kind = ADP_FAILED, .present = S, .http_status = 400 }, 1 },
    { "failed, 503", { .kind = ADP_FAILED, .present = S, .http_status = 503 }, 0 },
    { "failed after 200", { .kind = ADP_FAILED, .present = S, .http_status = 200 }, 0 },
    { "left before anything came", { .kind = ADP_CANCELLED }, 0 },
    { "left after the first token", { .kind = ADP_CANCELLED, .present = T }, 1 },
    { "left after 200", { .kind = ADP_CANCELLED, .present = S, .http_status = 200 }, 1 },
    { "left, told as 499",
      { .kind = ADP_CANCELLED, .present = S, .http_status = 499 },
      0 },
    { "not run", { .kind = ADP_NOT_RUN }, -1 },
    { "lost", { .kind = ADP_LOST }, -1 },
};

START_TEST(a_success_is_what_the_source_calls_one)
{
    stage_restart(&stage, NULL, 0);
    outcomes(9, ADP_FAILED);
    stage_outcome(&stage, &kinds[_i].o, 1);
    stage_set(&stage, "max_rejection_probability", 1);
    double p = p_now();
    double expect = kinds[_i].counts < 0    ? 9 / 10.0
                    : kinds[_i].counts == 0 ? 10 / 11.0
                                            : (10 - 1 / 0.95) / 11;
    ck_assert_msg(fabs(p - expect) < 1e-12, "%s", kinds[_i].name);
}
END_TEST

START_TEST(an_outcome_counts_for_thirty_seconds)
{
    stage_restart(&stage, NULL, 0);
    stage_at(&stage, 400); /* in the first second */
    outcomes(1, ADP_FAILED);
    stage_at(&stage, 10000);
    outcomes(3, ADP_FAILED);
    stage_at(&stage, 29999);
    ck_assert_double_eq(p_now(), 0.8); /* 4 / 5 */
    stage_at(&stage, 30000);
    ck_assert_double_eq(p_now(), 0.75); /* 3 / 4 */
    stage_at(&stage, 39999);
    ck_assert_double_eq(p_now(), 0.75);
    stage_at(&stage, 40000);
    ck_assert_double_eq(p_now(), 0.0);
    stage_at(&stage, 3600000);
    outcomes(1, ADP_FAILED);
    ck_assert_double_eq(p_now(), 0.5);
    stage_at(&stage, 3610000);
    outcomes(1, ADP_DONE);
    ck_assert_double_eq_tol(p_now(), (2 - 1 / 0.95) / 3, 1e-15);
    stage_at(&stage, 3645000); /* successes go as well */
    outcomes(1, ADP_FAILED);
    ck_assert_double_eq(p_now(), 0.5);
}
END_TEST

START_TEST(a_clock_that_steps_back_between_threads_loses_nothing)
{
    stage_restart(&stage, NULL, 0);
    stage_at(&stage, 5000);
    outcomes(1, ADP_FAILED);
    stage_at(&stage, 4999);
    outcomes(1, ADP_FAILED);
    ck_assert_double_eq_tol(p_now(), 2.0 / 3, 1e-15);
    stage_at(&stage, 34999);
    ck_assert_double_eq_tol(p_now(), 2.0 / 3, 1e-15);
    stage_at(&stage, 35000); /* both were counted in the later second */
    ck_assert_double_eq(p_now(), 0.0);
}
END_TEST

START_TEST(the_rate_is_a_mean_over_the_whole_window)
{
    stage_set(&stage, "rps_threshold", 2);
    stage_restart(&stage, NULL, 0);
    outcomes(59, ADP_FAILED); /* in one second; over thirty 1.97 a second */
    ck_assert_double_eq(p_now(), 0.0);
    stage.draw = 0.0;
    ck_assert_uint_eq(stage_now(&stage).set & ADP_SET_MARGIN, 0); /* it could not fire */
    outcomes(1, ADP_FAILED);
    ck_assert_double_eq(p_now(), 0.8);
    stage_at(&stage, 29000);
    ck_assert_double_eq(p_now(), 0.8);
}
END_TEST

START_TEST(the_rate_is_that_of_all_instances)
{
    stage.n_instances = 4;
    stage_set(&stage, "rps_threshold", 2);
    stage_restart(&stage, NULL, 0);
    outcomes(14, ADP_FAILED); /* 4 * 14 / 30 = 1.87 */
    ck_assert_double_eq(p_now(), 0.0);
    outcomes(1, ADP_FAILED); /* 4 * 15 / 30 */
    ck_assert_double_eq(p_now(), 0.8);
}
END_TEST

static void teach(struct stage *h)
{
    stage_restart(h, NULL, 0);
    for (int i = 0; i < 3; i++) {
        h->now_ns += SECOND;
        outcomes(1, ADP_FAILED);
    }
}

static double ask(struct stage *h)
{
    (void)h;
    return p_now(); /* 3 / 4, not 0 */
}

START_TEST(counts_are_believed_only_whole)
{
    stage_believes(&stage, teach, ask, 0.75, 0);
}
END_TEST

static const struct {
    const char *name;
    uint64_t now_ns;
    double window_s, p;
} restarts[] = {
    { "at once", 1003 * SECOND, 30, 0.75 },
    { "when one of three is too old", 1031 * SECOND, 30, 2.0 / 3 },
    { "when all are", 1033 * SECOND, 30, 0 },
    { "on a machine that started again", 5 * SECOND, 30, 0 },
    { "with another window", 1003 * SECOND, 31, 0 },
};

START_TEST(saved_counts_age_as_if_nothing_had_happened)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    teach(&stage); /* at 1001, 1002 and 1003 s */
    saved_len = stage_save(&stage, saved);
    stage_set(&stage, "sampling_window_s", restarts[_i].window_s);
    stage_restart(&stage, saved, saved_len);
    stage.now_ns = restarts[_i].now_ns;
    ck_assert_msg(fabs(p_now() - restarts[_i].p) < 1e-12, "%s", restarts[_i].name);
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
    Suite *s = suite_create("success_rate");
    TCase *t = tcase_create("success_rate");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_the_defaults_of_its_source);
    tcase_add_loop_test(t, the_probability_is_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, the_refused_share_is_the_probability);
    tcase_add_loop_test(t, a_success_is_what_the_source_calls_one, 0,
                        sizeof kinds / sizeof kinds[0]);
    tcase_add_test(t, an_outcome_counts_for_thirty_seconds);
    tcase_add_test(t, a_clock_that_steps_back_between_threads_loses_nothing);
    tcase_add_test(t, the_rate_is_a_mean_over_the_whole_window);
    tcase_add_test(t, the_rate_is_that_of_all_instances);
    tcase_add_test(t, counts_are_believed_only_whole);
    tcase_add_loop_test(t, saved_counts_age_as_if_nothing_had_happened, 0,
                        sizeof restarts / sizeof restarts[0]);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
