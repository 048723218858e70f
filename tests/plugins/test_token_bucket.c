/* SPDX-License-Identifier: MIT */
/* token_bucket: levels worked out by hand. A bucket of 1,000 tokens, refilled with 100 a
 * second: 0.1 a millisecond. */
#include "tests/plugins/stage.h"

static struct stage s;

static void setup(void)
{
    stage_open(&s, "token_bucket");
    stage_set(&s, "capacity", 1000);
    stage_set(&s, "refill", 100);
}

static void teardown(void)
{
    stage_close(&s);
}

static const adp_verdict *ask(uint64_t prompt, uint64_t output, uint64_t ms)
{
    stage_tokens(&s, prompt, output);
    return stage_ask(&s, ms);
}

/* Whether a request for `tokens` more than the level is refused for want of one of them,
 * and one for the level itself would not be: so the level is this. Asked with what never
 * changes it: a refusal. */
static void level_is(double level, uint64_t ms)
{
    uint64_t more = (uint64_t)(level < 0 ? 0 : level) + 1;
    ck_assert_uint_ne(ask(more, 0, ms)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(s.verdict.margin, (double)more - level, 1e-6);
}

enum { STEPS = 8 };

static const struct {
    const char *claim;
    struct {
        uint64_t ms, prompt, output;
        uint32_t reason;   /* 0: admitted */
        double level;      /* after it */
        uint32_t retry_ms; /* before it is spread */
    } step[STEPS];
} rows[] = {
    { "a burst of the capacity, then the rate",
      { { 0, 400, 200, 0, 400, 0 },
        { 0, 300, 200, ADP_R_RATE_LIMIT, 400, 1000 }, /* 100 are missing */
        { 500, 300, 200, ADP_R_RATE_LIMIT, 450, 500 },
        { 1000, 300, 200, 0, 0, 0 },
        { 1000, 1, 0, ADP_R_RATE_LIMIT, 0, 10 },
        { 1010, 1, 0, 0, 0, 0 },
        { 5010, 400, 0, 0, 0, 0 },
        { 100000, 1000, 0, 0, 0, 0 } } }, /* full is full */
    { "what is larger than the capacity never waits",
      { { 0, 1001, 0, ADP_R_REQUEST_TOO_LARGE, 1000, 0 },
        { 0, 1, 1000, ADP_R_REQUEST_TOO_LARGE, 1000, 0 },
        { 0, 500, 500, 0, 0, 0 },
        { 0, 1001, 0, ADP_R_REQUEST_TOO_LARGE, 0, 0 },
        { 0, 1000, 0, ADP_R_RATE_LIMIT, 0, 10000 },
        { 9990, 1000, 0, ADP_R_RATE_LIMIT, 999, 10 },
        { 10000, 1000, 0, 0, 0, 0 },
        { 10000, 18446744073709551615u, 0, ADP_R_REQUEST_TOO_LARGE, 0, 0 } } },
    { "time that runs back gives nothing, and nothing twice",
      { { 1000, 1000, 0, 0, 0, 0 },
        { 2000, 100, 0, 0, 0, 0 },
        { 1500, 1, 0, ADP_R_RATE_LIMIT, 0, 10 },
        { 2000, 1, 0, ADP_R_RATE_LIMIT, 0, 10 },
        { 2010, 1, 0, 0, 0, 0 },
        { 900000, 1000, 0, 0, 0, 0 },
        { 5, 1, 0, ADP_R_RATE_LIMIT, 0, 10 }, /* another clock: begins anew */
        { 15, 1, 0, 0, 0, 0 } } },
};

static void walk(int i, bool reload)
{
    stage_create(&s, NULL, 0);
    for (unsigned k = 0; k < STEPS; k++) {
        uint64_t ms = rows[i].step[k].ms;
        if (reload)
            stage_reload(&s);
        const adp_verdict *w = ask(rows[i].step[k].prompt, rows[i].step[k].output, ms);
        uint32_t reason = rows[i].step[k].reason, retry_ms = rows[i].step[k].retry_ms;
        ck_assert_msg(w->reason == reason, "%s: step %u: %u", rows[i].claim, k,
                      w->reason);
        ck_assert_uint_eq(w->action, !reason                             ? ADP_ADMIT
                                     : reason == ADP_R_REQUEST_TOO_LARGE ? ADP_REJECT
                                                                         : ADP_DEFER);
        ck_assert_uint_eq(w->set, ADP_SET_MARGIN | (retry_ms ? ADP_SET_RETRY : 0u));
        ck_assert_uint_ge(w->retry_after_ms, retry_ms);
        ck_assert_uint_le(w->retry_after_ms, retry_ms + retry_ms / 2 + 1);
        ck_assert((w->ticket != 0) == (w->action == ADP_ADMIT));
        level_is(rows[i].step[k].level, ms);
    }
}

START_TEST(a_level_is_as_worked_out_by_hand)
{
    walk(_i, false);
}
END_TEST

START_TEST(a_level_survives_a_reload)
{
    walk(_i, true);
}
END_TEST

/* 300 + 500 reserved: 200 left. */
static const struct {
    const char *claim;
    uint32_t kind;
    int64_t prompt, output; /* used; -1: not reported */
    double level;
} ends[] = {
    { "what was not used comes back", ADP_DONE, 300, 100, 600 },
    { "what was used beyond is charged", ADP_DONE, 300, 900, -200 },
    { "a prompt is put right too", ADP_DONE, 350, 500, 150 },
    { "what is not reported was used as reserved", ADP_DONE, -1, 100, 600 },
    { "nothing reported: as reserved", ADP_DONE, -1, -1, 200 },
    { "a failure that reports is settled", ADP_FAILED, 300, 0, 700 },
    { "a client that left is charged what it used", ADP_CANCELLED, 300, 20, 680 },
    { "what did not run costs nothing", ADP_NOT_RUN, -1, -1, 1000 },
    { "what is lost was used as reserved", ADP_LOST, -1, -1, 200 },
};

START_TEST(an_outcome_settles_the_reservation)
{
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        ck_assert_uint_eq(ask(300, 500, 1)->action, ADP_ADMIT);
        uint64_t ticket = s.verdict.ticket;
        level_is(200, 1);
        if (reload)
            stage_reload(&s);
        stage_end(&s, ticket + 1, ADP_NOT_RUN, -1, -1, 1); /* nobody's */
        level_is(200, 1);
        stage_end(&s, ticket, ends[_i].kind, ends[_i].prompt, ends[_i].output, 1);
        level_is(ends[_i].level, 1);
        stage_end(&s, ticket, ADP_NOT_RUN, -1, -1, 1); /* settled once */
        level_is(ends[_i].level, 1);
    }
}
END_TEST

START_TEST(a_refund_never_overfills)
{
    stage_create(&s, NULL, 0);
    ask(300, 500, 0);
    uint64_t ticket = s.verdict.ticket;
    level_is(1000, 8000); /* refilled meanwhile */
    stage_end(&s, ticket, ADP_NOT_RUN, -1, -1, 8000);
    level_is(1000, 8000);
}
END_TEST

START_TEST(a_debt_is_paid_by_time)
{
    stage_create(&s, NULL, 0);
    ask(300, 500, 0);
    stage_end(&s, s.verdict.ticket, ADP_DONE, 300, 2700, 0); /* 200 - 2200 */
    level_is(-2000, 0);
    ck_assert_uint_eq(ask(1, 0, 20000)->action, ADP_DEFER);
    ck_assert_uint_eq(ask(1, 0, 20010)->action, ADP_ADMIT);
}
END_TEST

START_TEST(what_is_not_stated_is_guessed)
{
    stage_set(&s, "prompt_guess", 600);
    stage_set(&s, "output_guess", 300);
    stage_create(&s, NULL, 0);
    s.request.present = 0;
    ck_assert_uint_eq(stage_ask(&s, 0)->action, ADP_ADMIT);
    level_is(100, 0);
}
END_TEST

START_TEST(tenants_have_buckets_of_their_own)
{
    stage_set(&s, "per_tenant", 1);
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        stage_tenant(&s, "a");
        ck_assert_uint_eq(ask(900, 0, 0)->action, ADP_ADMIT);
        uint64_t of_a = s.verdict.ticket;
        ck_assert_uint_eq(ask(200, 0, 0)->reason, ADP_R_TENANT_QUOTA);
        stage_tenant(&s, "b");
        ck_assert_uint_eq(ask(200, 0, 0)->action, ADP_ADMIT);
        stage_tenant(&s, NULL); /* those without a tenant share one */
        ck_assert_uint_eq(ask(700, 0, 0)->action, ADP_ADMIT);
        ck_assert_uint_eq(ask(700, 0, 0)->reason, ADP_R_TENANT_QUOTA);
        if (reload)
            stage_reload(&s);
        stage_end(&s, of_a, ADP_NOT_RUN, -1, -1, 0);
        stage_tenant(&s, "a");
        level_is(1000, 0);
        stage_tenant(&s, "b");
        level_is(800, 0);
        stage_tenant(&s, NULL);
        level_is(300, 0);
    }
}
END_TEST

START_TEST(without_per_tenant_all_share_one)
{
    stage_create(&s, NULL, 0);
    stage_tenant(&s, "a");
    ask(900, 0, 0);
    stage_tenant(&s, "b");
    ck_assert_uint_eq(ask(200, 0, 0)->reason, ADP_R_RATE_LIMIT);
}
END_TEST

START_TEST(more_tenants_than_there_is_room_for_drop_the_longest_idle)
{
    stage_set(&s, "per_tenant", 1);
    stage_set(&s, "tenants", 2);
    stage_create(&s, NULL, 0);
    stage_tenant(&s, "a");
    ask(900, 0, 0);
    uint64_t of_a = s.verdict.ticket;
    stage_tenant(&s, "b");
    ask(900, 0, 1);
    stage_tenant(&s, "c");
    ask(900, 0, 2); /* a's goes */
    stage_tenant(&s, "b");
    level_is(100.1, 2);
    stage_end(&s, of_a, ADP_DONE, 5000, 5000, 2); /* settles with nobody */
    stage_tenant(&s, "a");
    level_is(1000, 3);
}
END_TEST

/* Room for two; a and b have spent 900 each. */
static const struct {
    const char *claim;
    const char *tenant; /* asks ten times, under names of its own if NULL */
    uint64_t prompt;
    double level; /* of a, afterwards */
} crowds[] = {
    { "what is refused as too large pushes nobody out", NULL, 1001, 100 },
    { "nor does what is deferred", "b", 500, 100 },
    { "what is admitted does: a begins full", NULL, 1, 1000 },
};

START_TEST(only_what_is_admitted_takes_the_place_of_another)
{
    stage_set(&s, "per_tenant", 1);
    stage_set(&s, "tenants", 2);
    stage_create(&s, NULL, 0);
    stage_tenant(&s, "a");
    ask(900, 0, 0);
    stage_tenant(&s, "b");
    ask(900, 0, 0);
    for (unsigned i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "new%u", i);
        stage_tenant(&s, crowds[_i].tenant ? crowds[_i].tenant : name);
        const adp_verdict *w = ask(crowds[_i].prompt, 0, 0);
        ck_assert_msg((w->action == ADP_ADMIT) == (crowds[_i].prompt == 1), "%s",
                      crowds[_i].claim);
    }
    stage_tenant(&s, "a");
    level_is(crowds[_i].level, 0);
}
END_TEST

START_TEST(who_is_deferred_and_asks_again_keeps_its_bucket)
{
    stage_set(&s, "per_tenant", 1);
    stage_set(&s, "tenants", 2);
    stage_create(&s, NULL, 0);
    stage_tenant(&s, "a");
    ask(900, 0, 0);
    stage_tenant(&s, "b");
    ask(1, 0, 0);
    stage_tenant(&s, "a");
    ck_assert_uint_eq(ask(900, 0, 0)->action, ADP_DEFER);
    stage_tenant(&s, "c");
    ask(1, 0, 0); /* b's goes */
    stage_tenant(&s, "a");
    level_is(100, 0);
}
END_TEST

START_TEST(a_ticket_of_a_bucket_that_went_settles_with_nobody)
{
    for (unsigned reload = 0; reload < 2; reload++)
        for (unsigned i = 0; i < STAGE_N(ends); i++) {
            stage_set(&s, "per_tenant", 1);
            stage_set(&s, "tenants", 1);
            if (s.self)
                s.loaded->policy.destroy(s.self);
            stage_create(&s, NULL, 0);
            stage_tenant(&s, "a");
            ask(300, 500, 1);
            uint64_t old = s.verdict.ticket;
            stage_tenant(&s, "b");
            ask(1, 0, 1); /* a's goes */
            stage_tenant(&s, "a");
            ask(100, 100, 1); /* b's goes; a's new one has 800 */
            uint64_t now = s.verdict.ticket;
            if (reload)
                stage_reload(&s);
            stage_end(&s, old, ends[i].kind, ends[i].prompt, ends[i].output, 1);
            level_is(800, 1);
            stage_end(&s, now, ADP_NOT_RUN, -1, -1, 1); /* and its own it gets */
            level_is(1000, 1);
        }
}
END_TEST

static const uint32_t foreign[] = { ADP_NOT_RUN, ADP_LOST, ADP_CANCELLED, ADP_FAILED,
                                    ADP_DONE };

/* Saved at 700 of 1,000, with 300 reserved. The forerunner goes on and gives one more
 * ticket, and so does the instance that is made of what was saved; or one that starts
 * afresh, since what was saved could not be used. The clock may stand still between. */
START_TEST(a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing)
{
    static unsigned char saved[STAGE_SAVED];
    bool afresh = _i;
    uint64_t ms = afresh ? 1 : 0;
    stage_create(&s, NULL, 0);
    ask(300, 0, 0);
    uint64_t before = s.verdict.ticket;
    uint64_t len = stage_save(&s, saved);
    ask(100, 0, 0);
    uint64_t after = s.verdict.ticket;
    stage_restart(&s, afresh ? NULL : saved, afresh ? 0 : len);
    ask(200, 0, ms);
    uint64_t own = s.verdict.ticket;
    ck_assert(own != after && own != before);
    double level = afresh ? 800 : 500;
    level_is(level, ms);
    for (int i = 0; i < STAGE_N(foreign); i++) {
        stage_end(&s, after, foreign[i], 50, 7, ms);
        level_is(level, ms);
    }
    stage_end(&s, before, ADP_NOT_RUN, -1, -1, ms); /* it was reserved when saved */
    level_is(800, ms);
    stage_end(&s, own, ADP_NOT_RUN, -1, -1, ms);
    level_is(1000, ms);
}
END_TEST

/* Four processes: 250 tokens and 25 a second each, of a capacity of 1,000. */
START_TEST(a_process_has_its_share_and_serves_what_the_whole_could)
{
    s.n_instances = 4;
    stage_create(&s, NULL, 0);
    ck_assert_uint_eq(ask(1001, 0, 0)->reason, ADP_R_REQUEST_TOO_LARGE);
    ck_assert_uint_eq(ask(600, 0, 0)->action, ADP_ADMIT); /* from a full bucket */
    ck_assert_uint_eq(ask(1, 0, 0)->action, ADP_DEFER);
    ck_assert_double_eq_tol(s.verdict.margin, 351.0, 1e-9);
    ck_assert_uint_ge(s.verdict.retry_after_ms, 14040);
    ck_assert_uint_le(s.verdict.retry_after_ms, 21061);
    ck_assert_uint_eq(ask(600, 0, 23990)->action, ADP_DEFER); /* not full before 24 s */
    ck_assert_uint_eq(ask(600, 0, 24000)->action, ADP_ADMIT);
}
END_TEST

START_TEST(more_in_flight_than_there_is_room_for_stay_charged)
{
    stage_set(&s, "capacity", 1e6);
    stage_create(&s, NULL, 0);
    ask(100, 0, 0);
    uint64_t first = s.verdict.ticket;
    for (unsigned i = 0; i < 4096; i++)
        ask(100, 0, 0);
    level_is(1e6 - 4097 * 100, 0);
    stage_end(&s, first, ADP_NOT_RUN, -1, -1, 0); /* forgotten */
    level_is(1e6 - 4097 * 100, 0);
    stage_end(&s, first + 1, ADP_NOT_RUN, -1, -1, 0);
    level_is(1e6 - 4096 * 100, 0);
}
END_TEST

START_TEST(a_full_state_fits_and_a_spoilt_one_is_a_fresh_start)
{
    stage_set(&s, "per_tenant", 1);
    stage_set(&s, "tenants", 4096);
    stage_create(&s, NULL, 0);
    for (unsigned i = 0; i < 5000; i++) {
        char tenant[16];
        snprintf(tenant, sizeof tenant, "t%u", i);
        stage_tenant(&s, tenant);
        ask(1, 1, i);
    }
    stage_reload(&s);
    stage_spoilt(&s);
}
END_TEST

START_TEST(a_small_state_is_refused_wherever_it_is_cut)
{
    stage_create(&s, NULL, 0);
    ask(100, 100, 0);
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
    Suite *suite = suite_create("token_bucket");
    TCase *t = tcase_create("token_bucket");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_level_is_as_worked_out_by_hand, 0, STAGE_N(rows));
    tcase_add_loop_test(t, a_level_survives_a_reload, 0, STAGE_N(rows));
    tcase_add_loop_test(t, an_outcome_settles_the_reservation, 0, STAGE_N(ends));
    tcase_add_test(t, a_refund_never_overfills);
    tcase_add_test(t, a_debt_is_paid_by_time);
    tcase_add_test(t, what_is_not_stated_is_guessed);
    tcase_add_test(t, tenants_have_buckets_of_their_own);
    tcase_add_test(t, without_per_tenant_all_share_one);
    tcase_add_test(t, more_tenants_than_there_is_room_for_drop_the_longest_idle);
    tcase_add_loop_test(t, only_what_is_admitted_takes_the_place_of_another, 0,
                        STAGE_N(crowds));
    tcase_add_test(t, who_is_deferred_and_asks_again_keeps_its_bucket);
    tcase_add_test(t, a_ticket_of_a_bucket_that_went_settles_with_nobody);
    tcase_add_loop_test(
        t, a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing, 0, 2);
    tcase_add_test(t, a_process_has_its_share_and_serves_what_the_whole_could);
    tcase_add_test(t, more_in_flight_than_there_is_room_for_stay_charged);
    tcase_add_test(t, a_full_state_fits_and_a_spoilt_one_is_a_fresh_start);
    tcase_add_test(t, a_small_state_is_refused_wherever_it_is_cut);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
