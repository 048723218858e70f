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
    uint32_t ahead; /* of one chunk, without a deadline, at the same instant */
    double tokens, deadline_ms, running, safety, ttft_slo_ms;
    uint32_t reason; /* 0: admitted */
    uint32_t binding;
    double margin; /* NAN: none is stated */
} rows[] = {
    /* Nothing ahead, rho = 0: (a) is at (0 - 1) * 1000 = -1000, (b) at C - D. */
    { "alone", 0, 512, 1000, NAN, 1, 0, 0, ADP_NONE, CHUNK_MS - 1000 },
    { "no deadline", 0, 512, NAN, NAN, 1, 0, 0, ADP_NONE, -1000 },
    { "no length", 0, NAN, 1000, NAN, 1, 0, 0, ADP_NONE, NAN },
    { "nothing known", 0, NAN, NAN, NAN, 1, 0, 0, ADP_NONE, NAN },
    { "one token is a chunk", 0, 1, 1000, NAN, 1, 0, 0, ADP_NONE, CHUNK_MS - 1000 },
    { "none is too", 0, 0, 1000, NAN, 1, 0, 0, ADP_NONE, CHUNK_MS - 1000 },
    { "one more is two", 0, 513, 1000, NAN, 1, 0, 0, ADP_NONE, 95.92 - 1000 },
    { "itself longer than its deadline", 0, 512, 40, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 7.96 },
    { "late already", 0, 512, -5, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE,
      CHUNK_MS },
    { "just not", 0, 512, 47.95, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 0.01 },
    { "just", 0, 512, 47.97, NAN, 1, 0, 0, ADP_NONE, -0.01 },
    { "the deployment's deadline", 0, 512, NAN, NAN, 1, 40, ADP_R_REQUEST_TOO_LARGE,
      ADP_NONE, 7.96 },
    { "its own goes first", 0, 512, 1000, NAN, 1, 40, 0, ADP_NONE, CHUNK_MS - 1000 },
    { "twice as careful", 0, 512, 90, NAN, 2, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE,
      5.92 },
    { "careful enough", 0, 512, 100, NAN, 2, 0, 0, ADP_NONE, -4.08 },
    /* 11 chunks are 0.52756 s, 21 are 1.00716 s, 256 are 12.27776 s. */
    { "half a second of prefill", 0, 5632, 1e9, NAN, 1, 0, 0, ADP_NONE, -1000 },
    { "more than a second of it", 0, 10752, NAN, NAN, 1, 0, 0, ADP_NONE, -1000 },
    { "131,072 tokens in 13 s", 0, 131072, 13000, NAN, 1, 0, 0, ADP_NONE, -722.24 },
    { "131,072 tokens in 12 s", 0, 131072, 12000, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 277.76 },
    /* 12510 chunks are 599,979.60 ms, one more 600,027.56 */
    { "ten minutes", 0, 12510 * 512, NAN, NAN, 1, 0, 0, ADP_NONE, -20.4 },
    { "longer than any window", 0, 12510 * 512 + 1, NAN, NAN, 1, 0,
      ADP_R_REQUEST_TOO_LARGE, ADP_NONE, 27.56 },
    { "longer than any window, whatever deadline it states", 0, 12510 * 512 + 1, 1000,
      NAN, 1, 0, ADP_R_REQUEST_TOO_LARGE, ADP_NONE, 600027.56 - 1000 },
    { "and when that has passed", 0, 12510 * 512 + 1, -5, NAN, 1, 0,
      ADP_R_REQUEST_TOO_LARGE, ADP_NONE, 600027.56 },

    /* One of one chunk is ahead of one of c: two in the second, of (1 + c) / 2 chunks, so
     * rho = 0.04796 (1 + c). c = 1: 0.09592, rho/(1-rho) = 0.1060968: times 1000 is
     * 106.0968, with its own 47.96 154.0568. */
    { "behind one", 1, 512, 1000, NAN, 1, 0, 0, ADP_NONE, 154.0568 - 1000 },
    { "behind one, no deadline", 1, 512, NAN, NAN, 1, 0, 0, ADP_NONE, -904.08 },
    { "behind one, no length", 1, NAN, 1000, NAN, 1, 0, 0, ADP_NONE, -904.08 },
    /* 0.1060968 * 50 = 5.30484, and 47.96 */
    { "in time alone, not behind one", 1, 512, 50, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 3.26484 },
    { "in time neither way", 1, 512, 40, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE,
      4.243872 + 7.96 },
    { "behind one, twice as careful", 1, 512, 120, NAN, 2, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 2 * (12.731616 + CHUNK_MS) - 120 },
    /* c = 10: 0.52756: above one half no deadline is met */
    { "above one half, any deadline", 1, 5120, 1e9, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 0.52756 / 0.47244 * 1e9 + 479.6 - 1e9 },
    /* c = 20: 1.00716; c = 19: 0.9592 */
    { "overloaded", 1, 10240, NAN, NAN, 1, 0, ADP_R_WAIT_ESTIMATE_EXCEEDED, ADP_NONE,
      7.16 },
    { "overloaded, (b) says nothing", 1, 10240, 1e9, NAN, 1, 0,
      ADP_R_WAIT_ESTIMATE_EXCEEDED, ADP_NONE, 7.16 },
    /* its 20 chunks are 959.2 ms */
    { "overloaded, and itself longer than its deadline", 1, 10240, 40, NAN, 1, 0,
      ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 959.2 - 40 },
    { "overloaded, and late already", 1, 10240, -5, NAN, 1, 0, ADP_R_DEADLINE_INFEASIBLE,
      ADP_NONE, 959.2 },
    { "overloaded, and itself longer than the deployment's deadline", 1, 10240, NAN, NAN,
      1, 48, ADP_R_REQUEST_TOO_LARGE, ADP_NONE, 959.2 - 48 },
    { "not yet", 1, 9728, NAN, NAN, 1, 0, 0, ADP_NONE, -40.8 },
    /* 0.25 * 772 + 7 = 200 is met: the paper's bound is 772 */
    { "771 run", 0, 512, 1000, 771, 1, 0, 0, ADP_NONE, -0x1p-53 },
    { "772 run", 0, 512, 1000, 772, 1, 0, ADP_R_DEADLINE_INFEASIBLE, RUNNING, 0.25 },
    { "none run", 0, 512, 1000, 0, 1, 0, 0, ADP_NONE, 7.25 - 200 },
    { "none run, nothing else known", 0, NAN, NAN, 0, 1, 0, 0, ADP_NONE, 7.25 - 200 },
    { "two are broken: what no wait explains goes first, with the larger margin", 0, 512,
      40, 1000, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 57.25 },
    { "two are broken: the first in the paper's order, with the larger margin", 1, 512,
      50, 1000, 1, 0, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE, 57.25 },
};

START_TEST(a_request_is_tested_as_worked_out_by_hand)
{
    stage_set(&stage, "safety", rows[_i].safety);
    stage_set(&stage, "ttft_slo_ms", rows[_i].ttft_slo_ms);
    stage_restart(&stage, NULL, 0);
    for (uint32_t i = 0; i < rows[_i].ahead; i++)
        ck_assert_uint_eq(ask(1, NAN).action, ADP_ADMIT);
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

/* For all but the first of those that come together, who waits for nobody. */
START_TEST(the_busiest_second_counts_for_sixty)
{
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 11; i++)
        ask(512, NAN);
    stage_at(&stage, 59999);
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
    ck_assert_uint_eq(ask(512, 1000).reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT);
    stage_at(&stage, 60000); /* there are two ahead */
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
}
END_TEST

/* E[C] is a mean over the window: three of one chunk, one of five: (3 + 5) / 4 = 2
 * chunks, four in the second: rho = 4 * 2 * 0.04796. A second later, when that is done,
 * one of one chunk, and another behind it: the peak is 4, the mean (8 + 1 + 1) / 6. */
START_TEST(the_cost_is_a_mean_over_the_window)
{
    const double mean = 10.0 / 6.0;
    stage_restart(&stage, NULL, 0);
    for (int i = 0; i < 3; i++)
        ask(512, NAN);
    ck_assert_double_eq_tol(ask(2560, NAN).margin, (8 * 0.04796 - 1) * 1e3, 1e-9);
    stage_at(&stage, 1000);
    ck_assert_double_eq(ask(512, NAN).margin, -1000);
    ck_assert_double_eq_tol(ask(512, NAN).margin, (4 * mean * 0.04796 - 1) * 1e3, 1e-9);
    /* One of unknown length is an arrival, and no sample of the cost. */
    ck_assert_double_eq_tol(ask(NAN, NAN).margin, (4 * mean * 0.04796 - 1) * 1e3, 1e-9);
    for (int i = 0; i < 2; i++)
        ask(NAN, NAN);
    ck_assert_double_eq_tol(ask(NAN, NAN).margin, (6 * mean * 0.04796 - 1) * 1e3, 1e-9);
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

/* 24 chunks are 1151.04 ms: more than a second, so that one in the busiest second is a
 * share of 1.15104, and yet one a minute, or one after the other, is no load. */
START_TEST(a_long_prompt_is_admitted_whenever_nothing_is_ahead_of_it)
{
    static const unsigned every_ms[] = { 60000, 5000, 1152 };
    for (unsigned i = 0; i < 3; i++) {
        stage_restart(&stage, NULL, 0);
        for (unsigned k = 0; k < 100; k++) {
            stage_at(&stage, k * every_ms[i]);
            ck_assert_uint_eq(ask(12000, 1200).action, ADP_ADMIT);
        }
    }
    stage_at(&stage, 99 * 1152 + 1151);
    ck_assert_uint_eq(ask(12000, NAN).reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
}
END_TEST

START_TEST(a_short_request_keeps_a_long_one_waiting_for_its_own_prefill_only)
{
    stage_restart(&stage, NULL, 0);
    ask(100, NAN);
    stage_at(&stage, 47); /* (1 + 24) chunks, two in the second: 1.199 */
    ck_assert_uint_eq(ask(12000, NAN).reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
    stage_at(&stage, 48);
    ck_assert_uint_eq(ask(12000, NAN).action, ADP_ADMIT);
}
END_TEST

/* Of four instances each admitted one: 4 * 47.96 = 191.84 ms are ahead. One more makes two
 * in the second for each, rho = 8 * 0.04796 = 0.38368, 0.62253 * 50 + 47.96 > 50. */
START_TEST(what_other_instances_admit_is_ahead_too)
{
    stage.n_instances = 4;
    stage_restart(&stage, NULL, 0);
    ask(512, NAN);
    stage_at(&stage, 191);
    ck_assert_uint_eq(ask(512, 50).reason, ADP_R_DEADLINE_INFEASIBLE);
    stage_at(&stage, 192);
    ck_assert_uint_eq(ask(512, 50).action, ADP_ADMIT);
}
END_TEST

/* A request of unknown length takes the mean: 3 chunks, 143.88 ms. */
START_TEST(an_unknown_length_is_ahead_with_the_mean)
{
    stage_restart(&stage, NULL, 0);
    ask(1536, NAN);
    stage_at(&stage, 10000);
    ask(NAN, NAN);
    stage_at(&stage, 10143);
    ck_assert_uint_eq(ask(512, 50).reason, ADP_R_DEADLINE_INFEASIBLE);
    stage_at(&stage, 10144);
    ck_assert_uint_eq(ask(512, 50).action, ADP_ADMIT);
}
END_TEST

START_TEST(a_chunk_is_as_long_as_configured)
{
    stage_set(&stage, "chunk_tokens", 8192);
    stage_set(&stage, "alpha_ms", 0.01);
    stage_set(&stage, "gamma_ms", 18.08);
    stage_restart(&stage, NULL, 0); /* 81.92 + 18.08 = 100 ms */
    ck_assert_double_eq_tol(ask(8192, 150).margin, -50, 1e-9);
    ck_assert_double_eq_tol(ask(8193, NAN).margin, (2 * 0.15 - 1) * 1e3, 1e-9);
}
END_TEST

START_TEST(a_share_of_one_is_overloaded_and_its_margin_is_0)
{
    stage_set(&stage, "alpha_ms", 0);
    stage_set(&stage, "gamma_ms", 125);
    stage_restart(&stage, NULL, 0);
    ck_assert_uint_eq(ask(512, 1000).action, ADP_ADMIT);
    struct adp_verdict w = ask(7 * 512, 1000); /* 1 + 7 chunks of an eighth of a second */
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
    /* Each was an arrival like any, of one chunk; with one of two and one of one, which
     * come together, 6 of 5. */
    stage.signal[RUNNING] = NAN;
    ask(1024, NAN);
    ck_assert_double_eq_tol(ask(512, NAN).margin, (2 * 1.2 * 0.04796 - 1) * 1e3, 1e-9);
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
    ck_assert_uint_eq(stage_now(&stage).reason, ADP_R_REQUEST_TOO_LARGE);
    ck_assert_uint_eq(ask(512, NAN).action, ADP_ADMIT); /* 512 * 7.08 = 3624.96 ms */
    ck_assert_uint_eq(ask(5, NAN).reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
    stage.now_ns += 3625 * (SECOND / 1000);
    ck_assert_uint_eq(ask(5, NAN).action, ADP_ADMIT);
}
END_TEST

static void teach(struct stage *h)
{
    stage_restart(h, NULL, 0);
    for (int i = 0; i < 11; i++)
        ask(512, NAN);
    h->now_ns += 30 * SECOND;
    ask(512, NAN); /* is still ahead of what comes now */
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
    tcase_add_loop_test(t, a_request_is_tested_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, a_second_takes_what_the_prefill_can_do_and_no_more);
    tcase_add_test(t, with_a_deadline_it_takes_half_of_that);
    tcase_add_test(t, the_busiest_second_counts_for_sixty);
    tcase_add_test(t, the_cost_is_a_mean_over_the_window);
    tcase_add_test(t, of_two_instances_each_sees_half_of_the_arrivals);
    tcase_add_test(t, a_long_prompt_is_admitted_whenever_nothing_is_ahead_of_it);
    tcase_add_test(t, a_short_request_keeps_a_long_one_waiting_for_its_own_prefill_only);
    tcase_add_test(t, what_other_instances_admit_is_ahead_too);
    tcase_add_test(t, an_unknown_length_is_ahead_with_the_mean);
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
