/* SPDX-License-Identifier: MIT */
/* wcrt_inspired: the three bounds worked out by stage. With the paper's numbers a chunk of
 * 512 tokens takes 0.080 * 512 + 7 = 47.96 ms, so that k requests of one chunk in the
 * busiest second are a share of 0.04796 k. */
#include "tests/plugins/stage.h"

#include <float.h>

enum { RUNNING };
#define CHUNK_MS 47.96

static struct stage stage;

static void setup(void)
{
    stage_open(&stage, "wcrt_inspired");
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "chunk_tokens", "tokens", 512 }, { "alpha_ms", "ms/token", 0.080 },
    { "beta_ms", "ms/request", 0.25 }, { "gamma_ms", "ms", 7 },
    { "ttft_slo_ms", "ms", 0 },        { "tbt_slo_ms", "ms", 200 },
    { "window_s", "s", 60 },           { "safety", "", 1 },
    { "probe_ms", "ms", 5000 },
};

START_TEST(it_declares_the_defaults_of_its_source)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "formal-bound",
                   "analytic");
    ck_assert_str_eq(adp_loaded_card(stage.loaded).margin_unit, "ms");
    ck_assert_str_eq(adp_loaded_card(stage.loaded).metadata_assumed, "deadlines");
    ck_assert_ptr_null(stage.loaded->policy.outcome);
}
END_TEST

/* A request with so many prompt tokens and so many ms to its first token; NAN: not
 * stated. */
static struct adp_verdict ask(double tokens, double deadline_ms)
{
    stage.request.present = (isnan(tokens) ? 0u : (unsigned)ADP_PROMPT) |
                            (isnan(deadline_ms) ? 0u : (unsigned)ADP_DEADLINE);
    stage.request.prompt_tokens = isnan(tokens) ? 1u << 20 : (uint64_t)tokens;
    stage.request.ttft_deadline_ms = isnan(deadline_ms) ? 1e-9 : deadline_ms;
    return stage_now(&stage);
}

/* --- one request at a time --- */

static const struct {
    const char *name;
    double tokens, deadline_ms, running, safety, ttft_slo_ms;
    uint32_t reason; /* 0: admitted */
    uint32_t binding;
    double margin; /* NAN: none is stated */
} rows[] = {
    /* rho = 0.04796: (a) is at (0.04796 - 1) * 1000 = -952.04. (b): rho/(1-rho) =
     * 0.0503760; times 1000 is 50.3760, with its own 47.96 98.3360. */
    { "alone", 512, 1000, NAN, 1, 0, 0, ADP_NONE, 98.3360 - 1000 },
    { "no deadline", 512, NAN, NAN, 1, 0, 0, ADP_NONE, -952.04 },
    { "no length", NAN, 1000, NAN, 1, 0, 0, ADP_NONE, NAN },
    { "nothing known", NAN, NAN, NAN, 1, 0, 0, ADP_NONE, NAN },
    { "one token is a chunk", 1, 1000, NAN, 1, 0, 0, ADP_NONE, 98.3360 - 1000 },
    { "none is too", 0, 1000, NAN, 1, 0, 0, ADP_NONE, 98.3360 - 1000 },
    /* two chunks: rho = 0.09592, 0.1060970 * 1000 + 95.92 = 202.0170 */
    { "one more is two", 513, 1000, NAN, 1, 0, 0, ADP_NONE, 202.0170 - 1000 },
    /* itself longer than its deadline: 0.0503760 * 40 + 47.96 = 49.9750 */
    { "never in time", 512, 40, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 9.9750 },
    { "late already", 512, -5, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, CHUNK_MS },
    /* D (1 - rho/(1-rho)) = C: 47.96 / 0.9496240 = 50.50420 */
    { "just not", 512, 50.5, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 0.0039880 },
    { "just", 512, 50.51, NAN, 1, 0, 0, ADP_NONE, -0.0055082 },
    { "the deployment's deadline", 512, NAN, NAN, 1, 40, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 9.9750 },
    { "its own goes first", 512, 1000, NAN, 1, 40, 0, ADP_NONE, 98.3360 - 1000 },
    { "twice as careful", 512, 100, NAN, 2, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE,
      2 * (5.03760 + 47.96) - 100 },
    /* eleven chunks: rho = 0.52756: above one half no deadline is met */
    { "long, any deadline", 5632, 1e9, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE,
      0.52756 / 0.47244 * 1e9 + 527.56 - 1e9 },
    /* 21 chunks: rho = 1.00716 */
    { "overloaded", 10752, NAN, NAN, 1, 0, ADP_R_WAIT_ESTIMATE_EXCEEDED, ADP_NONE, 7.16 },
    { "overloaded, (b) says nothing", 10752, 1e9, NAN, 1, 0, ADP_R_WAIT_ESTIMATE_EXCEEDED,
      ADP_NONE, 7.16 },
    { "not yet", 10240, NAN, NAN, 1, 0, 0, ADP_NONE, -40.8 },
    /* 0.25 * 772 + 7 = 200 is met: the paper's bound is 772 */
    { "771 run", 512, 1000, 771, 1, 0, 0, ADP_NONE, -0x1p-53 },
    { "772 run", 512, 1000, 772, 1, 0, ADP_R_DEADLINE_INFEASIBLE, RUNNING, 0.25 },
    { "none run", 512, 1000, 0, 1, 0, 0, ADP_NONE, 7.25 - 200 },
    { "none run, nothing else known", NAN, NAN, 0, 1, 0, 0, ADP_NONE, 7.25 - 200 },
    { "both broken: the first in the paper's order, the larger margin", 512, 40, 1000, 1,
      0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 57.25 },
};

START_TEST(a_request_alone_is_tested_as_worked_out_by_hand)
{
    stage_set(&stage, "safety", rows[_i].safety);
    stage_set(&stage, "ttft_slo_ms", rows[_i].ttft_slo_ms);
    stage_restart(&stage, NULL, 0);
    stage.signal[RUNNING] = rows[_i].running;
    struct adp_verdict w = ask(rows[_i].tokens, rows[_i].deadline_ms);
    const char *name = rows[_i].name;
    ck_assert_msg(w.reason == rows[_i].reason, "%s: reason %u", name, w.reason);
    ck_assert(w.action == (rows[_i].reason ? ADP_REJECT : ADP_ADMIT));
    ck_assert_uint_eq(w.binding, rows[_i].binding);
    ck_assert_uint_eq(w.ticket, 0);
    ck_assert_msg(!!(w.set & ADP_SET_MARGIN) == !isnan(rows[_i].margin), "%s", name);
    if (w.set & ADP_SET_MARGIN) /* to the digits given above */
        ck_assert_msg(fabs(w.margin - rows[_i].margin) <=
                          1e-4 + 1e-6 * fabs(rows[_i].margin),
                      "%s: margin %.7f", name, w.margin);
}
END_TEST

/* --- the window --- */

START_TEST(a_second_takes_what_the_prefill_can_do_and_no_more)
{
    stage_restart(&stage, NULL, 0);
    for (unsigned second = 0; second < 3; second++) {
        stage_at(&stage, second * 1000);
        for (int i = 0; i < 20; i++) /* 20 * 0.04796 = 0.9592 */
            ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT);
        for (int i = 0; i < 100; i++) { /* however many ask: they are not arrivals */
            struct adp_verdict w = ask(512, NAN);
            ck_assert_uint_eq(w.reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
            ck_assert_double_eq_tol(w.margin, 7.16, 1e-9);
        }
    }
}
END_TEST

/* D = 1000: k = 10: 0.4796 / 0.5204 * 1000 + 47.96 = 969.56; k = 11: 1164.63 */
START_TEST(with_a_deadline_it_takes_half_of_that)
{
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
    struct adp_verdict w = ask(512, 1000);
    ck_assert_uint_eq(w.reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_double_eq_tol(w.margin, 164.63, 0.005);
    /* What has no deadline is still taken. */
    ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT);
}
END_TEST

START_TEST(the_busiest_second_counts_for_sixty)
{
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 11; i++)
        ask(512, NAN);
    stage_at(&stage, 59999);
    ck_assert_uint_eq(ask(512, 1000).reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT);
    stage_at(&stage, 60000);
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
}
END_TEST

/* E[C] is a mean over the window: three of one chunk, one of five: (3 + 5) / 4 = 2
 * chunks, four in the second: rho = 4 * 2 * 0.04796. A second later one of one chunk:
 * the peak is 4, the mean (8 + 1) / 5. */
START_TEST(the_cost_is_a_mean_over_the_window)
{
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 3; i++)
        ask(512, NAN);
    ck_assert_double_eq_tol(ask(2560, NAN).margin, (8 * 0.04796 - 1) * 1e3, 1e-9);
    stage_at(&stage, 1000);
    ck_assert_double_eq_tol(ask(512, NAN).margin, (4 * 1.8 * 0.04796 - 1) * 1e3, 1e-9);
    /* One of unknown length is an arrival, and no sample of the cost. */
    ck_assert_double_eq_tol(ask(NAN, NAN).margin, (4 * 1.8 * 0.04796 - 1) * 1e3, 1e-9);
    for (int i = 0; i < 2; i++)
        ask(NAN, NAN);
    ck_assert_double_eq_tol(ask(NAN, NAN).margin, (5 * 1.8 * 0.04796 - 1) * 1e3, 1e-9);
    stage_at(&stage, 61000); /* all are gone */
    ck_assert_uint_eq(ask(NAN, NAN).set & ADP_SET_MARGIN, 0);
}
END_TEST

START_TEST(of_two_instances_each_sees_half_of_the_arrivals)
{
    stage.n_instances = 2;
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT);
    ck_assert_uint_eq(ask(512, NAN).reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
}
END_TEST

START_TEST(a_chunk_is_as_long_as_configured)
{
    stage_set(&stage, "chunk_tokens", 8192);
    stage_set(&stage, "alpha_ms", 0.01);
    stage_set(&stage, "gamma_ms", 18.08);
    stage_restart(&stage, NULL, 0); /* 81.92 + 18.08 = 100 ms */
    ck_assert_double_eq_tol(ask(8192, NAN).margin, -900, 1e-9);
    ck_assert_double_eq_tol(ask(8193, NAN).margin, (2 * 0.15 - 1) * 1e3, 1e-9);
}
END_TEST

START_TEST(a_share_of_one_is_overloaded_and_its_margin_is_0)
{
    stage_set(&stage, "alpha_ms", 0);
    stage_set(&stage, "gamma_ms", 125);
    stage_restart(&stage, NULL, 0);
    struct adp_verdict w = ask(8 * 512, 1000); /* 8 chunks of an eighth of a second */
    ck_assert_uint_eq(w.reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
    ck_assert_double_eq(w.margin, 0.0);
}
END_TEST

START_TEST(steps_are_not_tested_without_a_bound)
{
    stage_set(&stage, "tbt_slo_ms", 0);
    stage_restart(&stage, NULL, 0);
    stage.signal[RUNNING] = 1e6;
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
}
END_TEST

START_TEST(a_bound_that_no_request_could_meet_is_refused)
{
    stage_set(&stage, "tbt_slo_ms", 7.25);
    stage_restart(&stage, NULL, 0); /* one may run */
    stage_set(&stage, "tbt_slo_ms", 7.2);
    stage.loaded->policy.destroy(stage.self);
    ck_assert(!stage_try(&stage, NULL, 0));
    ck_assert_str_eq(stage.error,
                     "tbt_slo_ms is below beta_ms + gamma_ms: no request could run");
}
END_TEST

START_TEST(a_frozen_reading_lets_one_through_in_five_seconds)
{
    stage_restart(&stage, NULL, 0);
    stage.signal[RUNNING] = 1000;
    unsigned admitted = 0;
    for (unsigned ms = 0; ms <= 16000; ms += 100) {
        stage_at(&stage, ms);
        struct adp_verdict w = ask(512, 1e6);
        if (w.action != ADP_ADMIT)
            continue;
        ck_assert_uint_eq(ms, 5000 * ++admitted);
        ck_assert_uint_eq(w.set & ADP_SET_MARGIN, 0);
    }
    ck_assert_uint_eq(admitted, 3);
    /* Each was an arrival like any, of one chunk; with this one's two, 5 of 4. */
    stage.signal[RUNNING] = NAN;
    ck_assert_double_eq_tol(ask(1024, NAN).margin, (1.25 * 0.04796 - 1) * 1e3, 1e-9);
    /* A reading that was good in between did not freeze. */
    stage_at(&stage, 30000);
    stage.signal[RUNNING] = 1000;
    ck_assert_uint_eq(ask(512, 1e6).action, ADP_REJECT);
    /* A deadline that is missed is no frozen reading: nothing probes it. */
    stage.signal[RUNNING] = NAN;
    for (unsigned ms = 30000; ms <= 50000; ms += 100) {
        stage_at(&stage, ms);
        ck_assert_uint_eq(ask(512, 40).action, ADP_REJECT);
    }
}
END_TEST

START_TEST(any_length_is_borne)
{
    stage_set(&stage, "chunk_tokens", 1);
    stage_restart(&stage, NULL, 0);
    stage.request.present = ADP_PROMPT | ADP_DEADLINE;
    stage.request.prompt_tokens = UINT64_MAX;
    stage.request.ttft_deadline_ms = DBL_MAX;
    ck_assert_uint_eq(stage_now(&stage).action, ADP_REJECT);
    ck_assert_uint_eq(ask(512, NAN).action, ADP_REJECT); /* 512 * 7.08 ms */
    ck_assert_uint_eq(ask(5, NAN).action, ADP_ADMIT);
}
END_TEST

static void teach(struct stage *h)
{
    stage_restart(h, NULL, 0);
    for (int i = 0; i < 11; i++)
        ask(512, NAN);
    h->now_ns += 30 * SECOND;
}

static double answer(struct stage *h)
{
    (void)h;
    return ask(512, 1000).action;
}

START_TEST(arrivals_are_believed_only_whole)
{
    stage_believes(&stage, teach, answer, ADP_REJECT, ADP_ADMIT);
}
END_TEST

START_TEST(arrivals_of_another_window_chunk_or_clock_are_forgotten)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t saved_len;
    teach(&stage);
    saved_len = stage_save(&stage, saved);
    stage_set(&stage, "window_s", 61);
    stage_restart(&stage, saved, saved_len);
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
    stage_set(&stage, "window_s", 60);
    stage_set(&stage, "chunk_tokens", 513);
    stage_restart(&stage, saved, saved_len);
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
    stage_set(&stage, "chunk_tokens", 512);
    stage_restart(&stage, saved, saved_len);
    stage.now_ns = 5 * SECOND;
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
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
    Suite *s = suite_create("wcrt_inspired");
    TCase *t = tcase_create("wcrt_inspired");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_the_defaults_of_its_source);
    tcase_add_loop_test(t, a_request_alone_is_tested_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, a_second_takes_what_the_prefill_can_do_and_no_more);
    tcase_add_test(t, with_a_deadline_it_takes_half_of_that);
    tcase_add_test(t, the_busiest_second_counts_for_sixty);
    tcase_add_test(t, the_cost_is_a_mean_over_the_window);
    tcase_add_test(t, of_two_instances_each_sees_half_of_the_arrivals);
    tcase_add_test(t, a_chunk_is_as_long_as_configured);
    tcase_add_test(t, a_share_of_one_is_overloaded_and_its_margin_is_0);
    tcase_add_test(t, steps_are_not_tested_without_a_bound);
    tcase_add_test(t, a_bound_that_no_request_could_meet_is_refused);
    tcase_add_test(t, a_frozen_reading_lets_one_through_in_five_seconds);
    tcase_add_test(t, any_length_is_borne);
    tcase_add_test(t, arrivals_are_believed_only_whole);
    tcase_add_test(t, arrivals_of_another_window_chunk_or_clock_are_forgotten);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
