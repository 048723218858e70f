/* SPDX-License-Identifier: MIT */
/* prefill_backlog: lines of tokens worked out by hand. A deployment that reads 1,000 prompt
 * tokens a second, one a millisecond, and a TTFT objective of 2 s. */
#include "tests/plugins/stage.h"

#include <float.h>

static struct stage s;

static void setup(void)
{
    stage_open(&s, "prefill_backlog");
    stage_set(&s, "ttft_slo_ms", 2000);
    stage_set(&s, "prefill_tokens_per_s", 1000);
}

static void teardown(void)
{
    stage_close(&s);
}

static const adp_verdict *ask(uint64_t prompt, uint64_t ms)
{
    stage_tokens(&s, prompt, 100);
    return stage_ask(&s, ms);
}

/* The tokens before a request that is refused, and so changes nothing: of 2,000 alone it
 * would be just in time. */
static double backlog(uint64_t ms)
{
    adp_request before = s.request;
    s.request.present = 0;
    double guess = s.param[3];
    stage_set(&s, "prompt_guess", 2000);
    const adp_verdict *w = stage_ask(&s, ms);
    double tokens = w->margin * 2000.0;
    ck_assert_msg(w->action != ADP_ADMIT, "nothing is before it");
    s.request = before;
    s.param[3] = guess;
    return tokens;
}

enum { STEPS = 7 };

static const struct {
    const char *claim;
    struct {
        uint64_t ms, prompt;
        uint32_t reason;   /* 0: admitted */
        uint32_t retry_ms; /* before it is spread */
        double margin;
    } step[STEPS];
} rows[] = {
    { "what is before it and its own prompt, at the rate they are read",
      { { 0, 1000, 0, 0, -0.5 },
        { 0, 1000, 0, 0, 0.0 }, /* just in time */
        { 0, 500, ADP_R_WAIT_ESTIMATE_EXCEEDED, 500, 0.25 },
        { 500, 500, 0, 0, 0.0 },
        { 500, 100, ADP_R_WAIT_ESTIMATE_EXCEEDED, 100, 0.05 },
        { 600, 100, 0, 0, 0.0 },
        { 10000, 2000, 0, 0, 0.0 } } }, /* an empty line is empty */
    { "a prompt that an idle deployment reads too late is rejected",
      { { 0, 2001, ADP_R_REQUEST_TOO_LARGE, 0, 0.0005 },
        { 0, 2000, 0, 0, 0.0 },
        { 0, 4000, ADP_R_REQUEST_TOO_LARGE, 0, 2.0 }, /* 6 s for 2 */
        { 0, 1, ADP_R_WAIT_ESTIMATE_EXCEEDED, 1, 0.0005 },
        { 1, 1, 0, 0, 0.0 },
        { 1, 18446744073709551615u, ADP_R_REQUEST_TOO_LARGE, 0, NAN },
        { 2001, 2000, 0, 0, 0.0 } } },
    { "time that runs back reads nothing, and nothing twice",
      { { 1000, 2000, 0, 0, 0.0 },
        { 2000, 1000, 0, 0, 0.0 },
        { 1500, 1, ADP_R_WAIT_ESTIMATE_EXCEEDED, 1, 0.0005 },
        { 2000, 1, ADP_R_WAIT_ESTIMATE_EXCEEDED, 1, 0.0005 },
        { 2100, 100, 0, 0, 0.0 },
        { 5, 1, ADP_R_WAIT_ESTIMATE_EXCEEDED, 1, 0.0005 }, /* another clock */
        { 1005, 1000, 0, 0, 0.0 } } },
};

static void walk(int i, bool reload)
{
    stage_create(&s, NULL, 0);
    for (unsigned k = 0; k < STEPS; k++) {
        if (reload)
            stage_reload(&s);
        const adp_verdict *w = ask(rows[i].step[k].prompt, rows[i].step[k].ms);
        uint32_t reason = rows[i].step[k].reason, retry_ms = rows[i].step[k].retry_ms;
        ck_assert_msg(w->reason == reason, "%s: step %u: %u", rows[i].claim, k,
                      w->reason);
        ck_assert_uint_eq(w->action, !reason                             ? ADP_ADMIT
                                     : reason == ADP_R_REQUEST_TOO_LARGE ? ADP_REJECT
                                                                         : ADP_DEFER);
        ck_assert_uint_eq(w->set, ADP_SET_MARGIN | (retry_ms ? ADP_SET_RETRY : 0u));
        ck_assert_uint_ge(w->retry_after_ms, retry_ms);
        ck_assert_uint_le(w->retry_after_ms, retry_ms + retry_ms / 2 + 1);
        if (!isnan(rows[i].step[k].margin))
            ck_assert_double_eq_tol(w->margin, rows[i].step[k].margin, 1e-9);
        ck_assert((w->ticket != 0) == (w->action == ADP_ADMIT));
    }
}

START_TEST(a_line_is_as_worked_out_by_hand)
{
    walk(_i, false);
}
END_TEST

START_TEST(a_line_survives_a_reload)
{
    walk(_i, true);
}
END_TEST

/* Or one request of 10^12 tokens and as patient would keep all others out for as long. */
START_TEST(a_deadline_of_more_than_a_day_is_none)
{
    stage_create(&s, NULL, 0);
    s.request.present = ADP_DEADLINE;
    s.request.ttft_deadline_ms = 86400000.0;
    ck_assert_uint_eq(ask(86400001, 0)->reason, ADP_R_DEADLINE_INFEASIBLE);
    s.request.ttft_deadline_ms = 86400001.0;
    ck_assert_uint_eq(ask(2001, 0)->reason, ADP_R_REQUEST_TOO_LARGE);
    s.request.ttft_deadline_ms = 1e300;
    ck_assert_uint_eq(ask(1000000000000u, 0)->reason, ADP_R_REQUEST_TOO_LARGE);
    ck_assert_uint_eq(ask(2000, 0)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_deadline_goes_before_the_objective)
{
    stage_create(&s, NULL, 0);
    s.request.present = ADP_DEADLINE;
    s.request.ttft_deadline_ms = 1000;
    ck_assert_uint_eq(ask(1001, 0)->reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_uint_eq(s.verdict.action, ADP_REJECT);
    ck_assert_uint_eq(ask(1000, 0)->action, ADP_ADMIT);
    ck_assert_uint_eq(ask(1, 0)->reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
    s.request.ttft_deadline_ms = 500;
    ck_assert_uint_eq(ask(250, 5000)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(s.verdict.margin, -0.5, 1e-12); /* 250 ms too early for 500 */
    s.request.ttft_deadline_ms = 60000;
    ck_assert_uint_eq(ask(59000, 5000)->action, ADP_ADMIT);
    s.request.ttft_deadline_ms = -1; /* it is over */
    ck_assert_uint_eq(ask(1, 5000)->reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_uint_eq(ask(0, 5000)->reason, ADP_R_DEADLINE_INFEASIBLE);
}
END_TEST

START_TEST(a_margin_is_a_number_however_small_the_deadline)
{
    stage_create(&s, NULL, 0);
    s.request.present = ADP_DEADLINE;
    s.request.ttft_deadline_ms =
        1e-318; /* 1e-321 s: a thousand times one over it is inf */
    ck_assert_uint_eq(ask(1000, 0)->reason, ADP_R_DEADLINE_INFEASIBLE);
    ck_assert_uint_eq(s.verdict.set, ADP_SET_MARGIN);
    ck_assert_double_eq(s.verdict.margin, DBL_MAX);
}
END_TEST

/* Three prompts of 600 at 0 ms; the line at 300 ms is read up to 300. Then the first, the
 * second or the third ends. */
static const struct {
    const char *claim;
    unsigned which;
    uint32_t kind;
    bool ttft; /* its first token was seen */
    double backlog;
} ends[] = {
    { "the first is done: all of it was read", 0, ADP_DONE, false, 1200 },
    { "the second is done: so was what stood before it", 1, ADP_DONE, false, 600 },
    { "the third is done: all was read", 2, ADP_DONE, false, 0 },
    { "a failure after a first token is the same", 1, ADP_FAILED, true, 600 },
    { "a client that left after a first token too", 0, ADP_CANCELLED, true, 1200 },
    { "the first is cancelled: its unread half leaves", 0, ADP_CANCELLED, false, 1200 },
    { "the second is cancelled: all of it leaves", 1, ADP_CANCELLED, false, 900 },
    { "the third fails: all of it leaves", 2, ADP_FAILED, false, 900 },
    { "the third did not run: all of it leaves", 2, ADP_NOT_RUN, false, 900 },
    { "the third is lost: nothing is known", 2, ADP_LOST, false, 1500 },
    { "a first token of what did not run is nothing", 2, ADP_NOT_RUN, true, 900 },
};

START_TEST(an_outcome_moves_the_line)
{
    uint64_t ticket[3];
    stage_create(&s, NULL, 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(ask(600, 0)->action, ADP_ADMIT);
        ticket[i] = s.verdict.ticket;
    }
    ck_assert_double_eq_tol(backlog(300), 1500, 1e-6);
    adp_outcome o = { .size = sizeof o,
                      .kind = ends[_i].kind,
                      .present = ends[_i].ttft ? ADP_O_TTFT : 0u,
                      .ticket = 12345, /* nobody's */
                      .now_ns = 300 * 1000000u };
    s.loaded->policy.outcome(s.self, &o);
    ck_assert_double_eq_tol(backlog(300), 1500, 1e-6);
    o.ticket = ticket[ends[_i].which];
    for (unsigned twice = 0; twice < 2; twice++) {
        s.loaded->policy.outcome(s.self, &o);
        if (ends[_i].backlog > 0)
            ck_assert_double_eq_tol(backlog(300), ends[_i].backlog, 1e-6);
    }
    if (!(ends[_i].backlog > 0))
        ck_assert_uint_eq(ask(2000, 300)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_late_outcome_does_not_read_what_came_after)
{
    stage_create(&s, NULL, 0);
    ask(600, 0);
    uint64_t first = s.verdict.ticket;
    ask(1400, 1000); /* the first was read at 600 ms */
    stage_end(&s, first, ADP_DONE, -1, -1, 1000);
    ck_assert_double_eq_tol(backlog(1000), 1400, 1e-6);
    ask(600, 1000);
    stage_end(&s, s.verdict.ticket, ADP_CANCELLED, -1, -1, 1000);
    ck_assert_double_eq_tol(backlog(1000), 1400, 1e-6);
    /* half of what was read when it left was not read twice */
    ask(600, 1000);
    uint64_t second = s.verdict.ticket;
    stage_end(&s, second, ADP_CANCELLED, -1, -1, 2700); /* 1,400 and 300 of its 600 */
    ask(1000, 2700);
    ck_assert_double_eq_tol(backlog(2700), 1000, 1e-6);
}
END_TEST

START_TEST(what_is_in_flight_is_bounded_too)
{
    stage_set(&s, "max_reqs", 2);
    stage_create(&s, NULL, 0);
    ck_assert_uint_eq(ask(1, 0)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(s.verdict.margin, -0.5, 1e-12); /* (1 - 2) / 2 */
    uint64_t first = s.verdict.ticket;
    ck_assert_uint_eq(ask(1, 1000)->action, ADP_ADMIT);
    uint64_t second = s.verdict.ticket;
    ck_assert_uint_eq(ask(1, 2000)->reason, ADP_R_CAPACITY_RESERVED);
    ck_assert_uint_eq(s.verdict.action, ADP_DEFER);
    ck_assert_double_eq_tol(s.verdict.margin, 0.5, 1e-12);
    ck_assert_uint_eq(s.verdict.set, ADP_SET_MARGIN); /* nothing was seen to leave */
    stage_end(&s, first, ADP_CANCELLED, -1, -1, 3000);
    ck_assert_uint_eq(ask(1, 3000)->action, ADP_ADMIT);
    stage_end(&s, second, ADP_LOST, -1, -1, 4000);
    ck_assert_uint_eq(ask(1, 4000)->action, ADP_ADMIT);
    /* asked first at 2 s, one left till 12 s: 0.1 a second, one must leave, spread */
    ck_assert_uint_eq(ask(1, 12000)->action, ADP_DEFER);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 10000);
    ck_assert_uint_le(s.verdict.retry_after_ms, 15000);
}
END_TEST

START_TEST(what_a_former_life_had_in_flight_holds_no_place)
{
    stage_set(&s, "max_reqs", 1);
    stage_create(&s, NULL, 0);
    ask(1, 1000);
    uint64_t old = s.verdict.ticket;
    ck_assert_uint_eq(ask(1, 1000)->action, ADP_DEFER);
    stage_reload(&s);
    ck_assert_uint_eq(ask(1, 1000)->action, ADP_ADMIT);
    ck_assert_uint_ne(s.verdict.ticket, old);
    stage_end(&s, old, ADP_DONE, -1, -1, 1000); /* frees nobody's place */
    ck_assert_uint_eq(ask(1, 1000)->action, ADP_DEFER);
}
END_TEST

static const uint32_t foreign[] = { ADP_NOT_RUN, ADP_LOST, ADP_CANCELLED, ADP_FAILED,
                                    ADP_DONE };

/* Saved with 600 unread. The forerunner admits 300 more; the instance that is made of what
 * was saved 400, so that 1,000 are unread; or one that starts afresh 1,000. */
START_TEST(a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing)
{
    static unsigned char saved[STAGE_SAVED];
    bool afresh = _i;
    uint64_t ms = afresh ? 1 : 0;
    stage_create(&s, NULL, 0);
    ask(600, 0);
    uint64_t before = s.verdict.ticket;
    uint64_t len = stage_save(&s, saved);
    ask(300, 0);
    uint64_t after = s.verdict.ticket;
    stage_restart(&s, afresh ? NULL : saved, afresh ? 0 : len);
    ask(afresh ? 1000 : 400, ms);
    uint64_t own = s.verdict.ticket;
    ck_assert(own != after && own != before);
    for (int i = 0; i < STAGE_N(foreign); i++) {
        stage_end(&s, after, foreign[i], -1, -1, ms);
        stage_end(&s, before, foreign[i], -1, -1, ms); /* places are not saved */
        ck_assert_double_eq_tol(backlog(ms), 1000, 1e-6);
    }
    stage_end(&s, own, ADP_NOT_RUN, -1, -1, ms); /* its tokens leave */
    if (afresh)
        ck_assert_uint_eq(ask(2000, ms)->action, ADP_ADMIT);
    else
        ck_assert_double_eq_tol(backlog(ms), 600, 1e-6);
}
END_TEST

/* 100 tokens at 0 ms: the mean prompt. At 1 s they are read; what waits in the engine
 * counts 100 each. */
START_TEST(a_longer_queue_in_the_engine_counts)
{
    stage_create(&s, NULL, 0);
    ask(100, 0);
    stage_signal(&s, "queue_depth", 19);
    ck_assert_uint_eq(ask(101, 1000)->reason, ADP_R_WAIT_ESTIMATE_EXCEEDED); /* 2.001 s */
    ck_assert_uint_eq(s.verdict.binding, 0);
    ck_assert_double_eq_tol(s.verdict.margin, 0.0005, 1e-9);
    stage_signal(&s, "queue_depth", ABSENT);
    ck_assert_uint_eq(ask(101, 1000)->action, ADP_ADMIT);
    /* the mean is 100 + 1/32 now, the line 101: the longer of the two */
    stage_signal(&s, "queue_depth", 1);
    ck_assert_double_eq_tol(backlog(1000), 101.0, 1e-6);
    stage_signal(&s, "queue_depth", 2);
    ck_assert_double_eq_tol(backlog(1000), 200.0625, 1e-6);
}
END_TEST

START_TEST(what_both_the_line_and_the_engine_refuse_is_not_the_reading_s_doing)
{
    stage_create(&s, NULL, 0);
    ask(1500, 0);
    stage_signal(&s, "queue_depth", 1); /* of 1,500 as well */
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(ask(1000, 0)->reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
        ck_assert_uint_eq(s.verdict.binding, ADP_NONE);
    }
}
END_TEST

START_TEST(a_frozen_queue_reading_lets_one_through_each_second)
{
    stage_create(&s, NULL, 0);
    ask(100, 0);
    stage_signal(&s, "queue_depth", 50);
    ck_assert_uint_eq(ask(1, 5000)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(1, 5999)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(1, 6000)->action, ADP_ADMIT);
    ck_assert_uint_eq(s.verdict.set, 0);
    ck_assert_uint_eq(ask(1, 6001)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(1, 7000)->action, ADP_ADMIT);
    stage_signal(&s, "queue_depth", 0);
    ck_assert_uint_eq(ask(1, 7001)->action, ADP_ADMIT);
    stage_signal(&s, "queue_depth", 50);
    ck_assert_uint_eq(ask(1, 8050)->action, ADP_DEFER);                  /* counts anew */
    ck_assert_uint_eq(ask(2001, 9050)->reason, ADP_R_REQUEST_TOO_LARGE); /* no probe */
    ck_assert_uint_eq(ask(1, 9050)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_full_line_is_no_frozen_reading)
{
    stage_create(&s, NULL, 0);
    stage_signal(&s, "queue_depth", 50);
    s.request.present = ADP_DEADLINE;
    s.request.ttft_deadline_ms = 86400000.0;
    ask(100000, 0); /* 100 s of work */
    s.request.ttft_deadline_ms = 2000;
    for (uint64_t ms = 0; ms < 90000; ms += 500)
        ck_assert_uint_eq(ask(1, ms)->action, ADP_DEFER);
}
END_TEST

START_TEST(a_length_that_is_not_stated_is_guessed)
{
    stage_set(&s, "prompt_guess", 1500);
    stage_create(&s, NULL, 0);
    s.request.present = 0;
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(backlog(0), 1500, 1e-6);
}
END_TEST

START_TEST(a_long_wait_is_not_told_beyond_half_a_minute)
{
    stage_create(&s, NULL, 0);
    s.request.present = ADP_DEADLINE;
    s.request.ttft_deadline_ms = 86400000.0;
    ask(500000, 0);
    s.request.ttft_deadline_ms = 2000;
    ck_assert_uint_eq(ask(1, 0)->action, ADP_DEFER);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 30000);
    ck_assert_uint_le(s.verdict.retry_after_ms, 45000);
}
END_TEST

/* Two processes fill one deployment: each reads 500 a second of its own line. */
START_TEST(a_process_has_its_share)
{
    s.n_instances = 2;
    stage_set(&s, "max_reqs", 4);
    stage_create(&s, NULL, 0);
    ck_assert_uint_eq(ask(500, 0)->action, ADP_ADMIT);
    ck_assert_uint_eq(ask(1000, 0)->action, ADP_ADMIT); /* 500/500 + 1000/1000 */
    ck_assert_double_eq_tol(s.verdict.margin, 0.0, 1e-12);
    ck_assert_uint_eq(ask(1, 0)->reason, ADP_R_CAPACITY_RESERVED);
    ck_assert_uint_eq(ask(2000, 2999)->reason, ADP_R_CAPACITY_RESERVED);
    stage_set(&s, "max_reqs", 0);
    ck_assert_uint_eq(ask(2000, 2990)->reason, ADP_R_WAIT_ESTIMATE_EXCEEDED);
    ck_assert_uint_eq(ask(2000, 3000)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_spoilt_state_is_a_fresh_start)
{
    stage_create(&s, NULL, 0);
    ask(1000, 5);
    stage_spoilt(&s);
}
END_TEST

START_TEST(its_page_names_every_parameter_and_its_example_loads)
{
    stage_create(&s, NULL, 0);
    stage_page(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prefill_backlog");
    TCase *t = tcase_create("prefill_backlog");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_line_is_as_worked_out_by_hand, 0, STAGE_N(rows));
    tcase_add_loop_test(t, a_line_survives_a_reload, 0, STAGE_N(rows));
    tcase_add_test(t, a_deadline_goes_before_the_objective);
    tcase_add_test(t, a_deadline_of_more_than_a_day_is_none);
    tcase_add_test(t, a_margin_is_a_number_however_small_the_deadline);
    tcase_add_loop_test(t, an_outcome_moves_the_line, 0, STAGE_N(ends));
    tcase_add_test(t, a_late_outcome_does_not_read_what_came_after);
    tcase_add_test(t, what_is_in_flight_is_bounded_too);
    tcase_add_test(t, what_a_former_life_had_in_flight_holds_no_place);
    tcase_add_loop_test(
        t, a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing, 0, 2);
    tcase_add_test(t, a_longer_queue_in_the_engine_counts);
    tcase_add_test(t,
                   what_both_the_line_and_the_engine_refuse_is_not_the_reading_s_doing);
    tcase_add_test(t, a_frozen_queue_reading_lets_one_through_each_second);
    tcase_add_test(t, a_full_line_is_no_frozen_reading);
    tcase_add_test(t, a_length_that_is_not_stated_is_guessed);
    tcase_add_test(t, a_long_wait_is_not_told_beyond_half_a_minute);
    tcase_add_test(t, a_process_has_its_share);
    tcase_add_test(t, a_spoilt_state_is_a_fresh_start);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
