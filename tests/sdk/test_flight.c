/* SPDX-License-Identifier: MIT */
/* Flights, outcomes and turns (admitperf/flight.h). The limiters' own tests
 * (tests/plugins) hold the whole against worked-out sequences. */
#include <admitperf/flight.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define S UINT64_C(1000000000)

static uint32_t land(struct adp_flight *f, uint64_t ticket)
{
    const adp_outcome o = { .size = sizeof o, .kind = ADP_LOST, .ticket = ticket };
    return adp_flight_end(f, &o);
}

START_TEST(a_ticket_says_how_many_were_in_flight_with_it)
{
    struct adp_flight f = { 0 };
    uint64_t a = adp_flight_begin(&f, 5), b = adp_flight_begin(&f, 5);
    ck_assert_uint_ne(a, 0);
    ck_assert_uint_ne(b, 0);
    ck_assert_uint_eq(f.now, 2);
    ck_assert_uint_eq(land(&f, a), 1);
    ck_assert_uint_eq(land(&f, b), 2);
    ck_assert_uint_eq(f.now, 0);
}
END_TEST

START_TEST(nothing_lands_that_did_not_begin_here)
{
    struct adp_flight f = { .life = { .before = 2 } },
                      before = { .life = { .number = 2 } };
    uint64_t old = adp_flight_begin(&before, 5);
    ck_assert_uint_eq(land(&f, old), 1);
    ck_assert_uint_eq(f.now, 0);
    uint64_t own = adp_flight_begin(&f, 5);
    land(&f, old);
    ck_assert_uint_eq(f.now, 1);
    land(&f, own);
    land(&f, own); /* twice: the host never does */
    ck_assert_uint_eq(f.now, 0);
}
END_TEST

START_TEST(the_count_does_not_wrap)
{
    struct adp_flight f = { .now = UINT32_MAX - 1 };
    ck_assert_uint_eq((uint32_t)adp_flight_begin(&f, 5), UINT32_MAX);
    ck_assert_uint_eq((uint32_t)adp_flight_begin(&f, 5), UINT32_MAX);
    ck_assert_uint_eq(f.now, UINT32_MAX);
}
END_TEST

enum { C = ADP_O_STATUS, T = ADP_O_TTFT, A = ADP_O_TOTAL };

static const struct {
    adp_outcome o;
    bool ran, at_fault, failed;
    enum adp_first_token first;
    double ms;
} outcomes[] = {
    { { .kind = ADP_DONE }, true, false, false, ADP_FIRST_UNKNOWN, 0 },
    { { .kind = ADP_FAILED }, true, false, true, ADP_FIRST_UNKNOWN, 0 },
    { { .kind = ADP_CANCELLED }, true, false, false, ADP_FIRST_UNKNOWN, 0 },
    { { .kind = ADP_NOT_RUN }, false, false, false, ADP_FIRST_UNKNOWN, 0 },
    { { .kind = ADP_LOST }, false, false, false, ADP_FIRST_UNKNOWN, 0 },
    /* statuses */
    { { .kind = ADP_DONE, .http_status = 500 }, true, false, false, 0, 0 }, /* absent */
    { { .kind = ADP_DONE, .present = C, .http_status = 200 }, true, false, false, 0, 0 },
    { { .kind = ADP_FAILED, .present = C, .http_status = 200 }, true, false, true, 0, 0 },
    { { .kind = ADP_DONE, .present = C, .http_status = 399 }, true, false, false, 0, 0 },
    { { .kind = ADP_FAILED, .present = C, .http_status = 400 }, true, true, false, 0, 0 },
    { { .kind = ADP_DONE, .present = C, .http_status = 499 }, true, true, false, 0, 0 },
    { { .kind = ADP_DONE, .present = C, .http_status = 408 }, true, false, true, 0, 0 },
    { { .kind = ADP_FAILED, .present = C, .http_status = 429 }, true, false, true, 0, 0 },
    { { .kind = ADP_DONE, .present = C, .http_status = 500 }, true, false, true, 0, 0 },
    { { .kind = ADP_DONE, .present = C, .http_status = 529 }, true, false, true, 0, 0 },
    /* first tokens */
    { { .kind = ADP_DONE, .present = T, .ttft_ms = 0 },
      true,
      false,
      false,
      ADP_FIRST_CAME,
      0 },
    { { .kind = ADP_DONE, .present = T | A, .ttft_ms = 5, .total_ms = 90 },
      true,
      false,
      false,
      ADP_FIRST_CAME,
      5 },
    { { .kind = ADP_DONE, .present = A, .total_ms = 90 },
      true,
      false,
      false,
      ADP_FIRST_UNKNOWN,
      0 },
    { { .kind = ADP_FAILED, .present = A, .total_ms = 90 },
      true,
      false,
      true,
      ADP_FIRST_LATER,
      90 },
    { { .kind = ADP_CANCELLED, .present = A, .total_ms = 90 },
      true,
      false,
      false,
      ADP_FIRST_LATER,
      90 },
    { { .kind = ADP_CANCELLED, .present = T | A, .ttft_ms = 5, .total_ms = 90 },
      true,
      false,
      false,
      ADP_FIRST_CAME,
      5 },
    { { .kind = ADP_DONE, .present = T, .ttft_ms = -1 },
      true,
      false,
      false,
      ADP_FIRST_UNKNOWN,
      0 },
    { { .kind = ADP_DONE, .present = T, .ttft_ms = NAN },
      true,
      false,
      false,
      ADP_FIRST_UNKNOWN,
      0 },
    { { .kind = ADP_DONE, .present = T, .ttft_ms = INFINITY },
      true,
      false,
      false,
      ADP_FIRST_UNKNOWN,
      0 },
};

START_TEST(an_outcome_is_read_with_care)
{
    double ms = -7;
    const adp_outcome *o = &outcomes[_i].o;
    ck_assert(adp_outcome_ran(o) == outcomes[_i].ran);
    ck_assert(adp_outcome_at_fault(o) == outcomes[_i].at_fault);
    ck_assert(adp_outcome_failed(o) == outcomes[_i].failed);
    ck_assert_uint_eq(adp_outcome_first_token(o, &ms), outcomes[_i].first);
    ck_assert_double_eq(ms, outcomes[_i].first ? outcomes[_i].ms : -7); /* untouched */
}
END_TEST

/* Without spread, so that the turns are seen; 20 land in the first ten seconds. */
static double next(struct adp_turns *t, uint64_t now_ns)
{
    double ms = adp_turns_next_ms(t, now_ns, 0.5);
    return ms / (1 + ADP_TURNS_SPREAD * adp_draw_nth(0.5, ADP_DRAW_JITTER));
}

START_TEST(each_gets_the_next_turn_at_the_rate_of_landings)
{
    struct adp_turns t = { 0 };
    ck_assert_double_eq(next(&t, 0), 0.0); /* nothing is measured */
    for (int i = 0; i < 20; i++)
        adp_turns_landed(&t, 5 * S);
    ck_assert_double_eq(next(&t, 10 * S - 1), 0.0);
    for (int i = 1; i <= 3; i++) /* two a second */
        ck_assert_double_eq_tol(next(&t, 10 * S), 500.0 * i, 1e-9);
    adp_turns_landed(&t, 10 * S); /* one of the three; 21 in ten seconds */
    ck_assert_double_eq_tol(next(&t, 10 * S), 3 / 2.1 * 1e3, 1e-9);
    ck_assert_double_eq(next(&t, 60 * S), 0.0); /* nothing lands any more */
}
END_TEST

START_TEST(no_turn_is_more_than_half_a_minute_away)
{
    struct adp_turns t = { 0 };
    for (int i = 0; i < 10; i++)
        adp_turns_landed(&t, 0);
    for (int i = 1; i <= 1000; i++) /* one a second */
        ck_assert_double_eq_tol(next(&t, 10 * S), i < 30 ? i * 1e3 : 30e3, 1e-9);
    /* Those beyond it are not counted: they would be told the same for ever. */
    ck_assert_uint_eq(t.given, 29);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("flight");
    TCase *t = tcase_create("flight");
    tcase_add_test(t, a_ticket_says_how_many_were_in_flight_with_it);
    tcase_add_test(t, nothing_lands_that_did_not_begin_here);
    tcase_add_test(t, the_count_does_not_wrap);
    tcase_add_loop_test(t, an_outcome_is_read_with_care, 0,
                        sizeof outcomes / sizeof outcomes[0]);
    tcase_add_test(t, each_gets_the_next_turn_at_the_rate_of_landings);
    tcase_add_test(t, no_turn_is_more_than_half_a_minute_away);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
