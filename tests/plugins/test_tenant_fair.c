/* SPDX-License-Identifier: MIT */
/* tenant_fair: counters worked out by hand. Weights 1 and 2, a lead of at most 1,000; five
 * waiting requests saturate. */
#include "tests/plugins/mixed_pools.h"
#include "tests/plugins/stage.h"

static struct stage s;

static void setup(void)
{
    stage_open(&s, "tenant_fair");
    stage_set(&s, "max_lead", 1000);
    stage_signal(&s, "kv_pressure", 0.0);
    stage_signal(&s, "queue_depth", 10);
}

static void teardown(void)
{
    stage_close(&s);
}

static const adp_verdict *ask(const char *tenant, uint64_t prompt, uint64_t ms)
{
    stage_tenant(&s, tenant);
    stage_tokens(&s, prompt, 1000000);
    return stage_ask(&s, ms);
}

/* Asks while there is room, so that it is admitted; its ticket. */
static uint64_t run(const char *tenant, uint64_t prompt, uint64_t ms)
{
    stage_signal(&s, "queue_depth", 0);
    ck_assert_uint_eq(ask(tenant, prompt, ms)->action, ADP_ADMIT);
    stage_signal(&s, "queue_depth", 10);
    return s.verdict.ticket;
}

static void end(uint64_t ticket, int64_t prompt, int64_t output, uint64_t ms)
{
    stage_end(&s, ticket, ADP_DONE, prompt, output, ms);
}

/* How far a tenant is above the least of the others: asked with a request of nothing. */
static double lead(const char *tenant, uint64_t ms)
{
    stage_tenant(&s, tenant);
    stage_tokens(&s, 0, 0);
    return (stage_ask(&s, ms)->margin + 1.0) * 1000.0;
}

static const struct {
    const char *tenant;
    uint64_t prompt;
    double queue;
    bool admits;
    double margin; /* the lead less 1,000, in thousands; or saturation - 1 */
} steps[] = {
    { "a", 1000, 10, true, -1.0 },   /* no lead; a is now at 1,100 */
    { "a", 100, 10, true, 0.0 },     /* 1,000 is not above it; a 1,200 */
    { "a", 1, 10, false, 0.1 },      /* 1,100 above b */
    { "a", 1, 4, true, -0.2 },       /* there is room: 4/5; a 1,201 */
    { "b", 600, 10, true, -1.0 },    /* the least served never waits; b 700 */
    { "a", 499, 10, true, -0.499 },  /* 501 above; a 1,700 */
    { "a", 1, 10, true, 0.0 },       /* 1,000 above; a 1,701 */
    { "a", 1, 5, false, 0.001 },     /* saturation 1 is saturated */
    { "b", 1001, 10, true, -1.0 },   /* b 1,701 */
    { "a", 100000, 10, true, -1.0 }, /* a 101,701 */
    { "a", 1, 10, false, 99.0 },     /* 100,000 above */
    { "b", 99000, 10, true, -1.0 },  /* b 100,701 */
    { "a", 1, 10, true, 0.0 },
};

START_TEST(the_one_ahead_waits_while_there_is_no_room)
{
    stage_create(&s, NULL, 0);
    ask("a", 100, 0);
    ask("b", 0, 0); /* lifted to a's 100; both stay in flight */
    for (unsigned k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        if (_i)
            stage_reload(&s);
        stage_signal(&s, "queue_depth", steps[k].queue);
        const adp_verdict *w = ask(steps[k].tenant, steps[k].prompt, 10);
        ck_assert_msg((w->action == ADP_ADMIT) == steps[k].admits, "step %u", k);
        ck_assert_double_eq_tol(w->margin, steps[k].margin, 1e-12);
        ck_assert_uint_eq(w->action, steps[k].admits ? ADP_ADMIT : ADP_DEFER);
        ck_assert_uint_eq(w->reason, steps[k].admits ? 0 : ADP_R_TENANT_QUOTA);
        ck_assert_uint_eq(w->binding, ADP_NONE);
        ck_assert((w->ticket != 0) == steps[k].admits);
    }
}
END_TEST

START_TEST(a_tenant_alone_never_waits)
{
    stage_create(&s, NULL, 0);
    for (unsigned i = 0; i < 100; i++)
        ck_assert_uint_eq(ask("a", 100000, i)->action, ADP_ADMIT);
}
END_TEST

START_TEST(nobody_waits_for_those_who_have_gone)
{
    stage_create(&s, NULL, 0);
    uint64_t z = run("z", 0, 0);
    run("a", 5000, 0);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_DEFER);
    end(z, 0, 0, 2);
    ck_assert_uint_eq(ask("a", 1, 3)->action, ADP_ADMIT);
}
END_TEST

START_TEST(those_without_a_tenant_are_one_tenant)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    run(NULL, 3000, 0);
    ck_assert_double_eq_tol(lead(NULL, 1), 3000, 1e-9);
    ck_assert_uint_eq(ask(NULL, 1, 1)->action, ADP_DEFER);
}
END_TEST

/* z is in flight at 0. a had an output of 100 (200 tokens), expects the same of the next,
 * and asks for 300: 200 + 300 + 200. */
static const struct {
    const char *claim;
    uint32_t kind;
    int64_t prompt, output;
    double lead;
    double expected; /* output of the next */
} ends[] = {
    { "as expected", ADP_DONE, 300, 100, 700, 100 },
    { "a shorter output comes back", ADP_DONE, 300, 50, 600, 90 },
    { "a longer one is charged", ADP_DONE, 300, 400, 1300, 160 },
    { "a prompt is put right", ADP_DONE, 350, 100, 750, 100 },
    { "what is not reported was used as expected", ADP_DONE, -1, -1, 700, 100 },
    { "a failure that reports is put right", ADP_FAILED, 300, 0, 500, 100 },
    { "a client that left is charged what it used", ADP_CANCELLED, -1, 10, 520, 100 },
    { "what did not run costs nothing", ADP_NOT_RUN, 300, 100, 200, 100 },
    { "what is lost was used as expected", ADP_LOST, -1, -1, 700, 100 },
};

START_TEST(an_outcome_puts_the_charge_right)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    end(run("a", 0, 0), 0, 100, 0);
    ck_assert_double_eq_tol(lead("a", 1), 200, 1e-9);
    uint64_t ticket = run("a", 300, 1);
    ck_assert_double_eq_tol(lead("a", 1), 700, 1e-9);
    stage_end(&s, ticket + 100, ADP_NOT_RUN, -1, -1, 1); /* nobody's */
    for (unsigned twice = 0; twice < 2; twice++) {
        stage_end(&s, ticket, ends[_i].kind, ends[_i].prompt, ends[_i].output, 1);
        ck_assert_msg(fabs(lead("a", 1) - ends[_i].lead) < 1e-9, "%s: %g", ends[_i].claim,
                      lead("a", 1));
    }
    run("a", 0, 1);
    ck_assert_double_eq_tol(lead("a", 1), ends[_i].lead + 2 * ends[_i].expected, 1e-9);
}
END_TEST

START_TEST(an_output_is_expected_as_the_last_ones_were)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    end(run("a", 0, 0), 0, 50, 0); /* 100; the next is expected at 50 */
    run("a", 0, 0);                /* + 100 */
    ck_assert_double_eq_tol(lead("a", 1), 200, 1e-9);
    end(run("a", 0, 0), 0, 100, 0); /* + 200; 50 + (100 - 50)/5 */
    run("a", 0, 0);                 /* + 120 */
    ck_assert_double_eq_tol(lead("a", 1), 520, 1e-9);
    /* never more than the request's own maximum */
    stage_signal(&s, "queue_depth", 0);
    stage_tokens(&s, 0, 10);
    stage_ask(&s, 1); /* + 20 */
    stage_signal(&s, "queue_depth", 10);
    ck_assert_double_eq_tol(lead("a", 1), 540, 1e-9);
}
END_TEST

START_TEST(who_comes_back_is_lifted_to_the_least_of_the_active)
{
    stage_create(&s, NULL, 0);
    end(run("c", 0, 0), 0, 0, 0); /* at 0, idle */
    run("a", 5000, 0);
    run("b", 9000, 0); /* lifted to 5,000 first: 14,000 */
    ck_assert_uint_eq(ask("c", 0, 1)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(lead("a", 1), 0, 1e-9); /* not 5,000 above c */
    ck_assert_double_eq_tol(lead("b", 1), 9000, 1e-9);
}
END_TEST

START_TEST(who_comes_back_is_never_lowered)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    end(run("a", 5000, 0), 5000, 0, 0); /* idle at 5,000 */
    ck_assert_double_eq_tol(lead("a", 1), 5000, 1e-9);
}
END_TEST

START_TEST(with_nobody_active_it_is_lifted_to_who_asked_last)
{
    stage_create(&s, NULL, 0);
    end(run("old", 0, 0), 0, 0, 0);
    end(run("a", 5000, 1), 5000, 0, 1);
    run("b", 0, 2); /* at 5,000, not at 0 */
    ck_assert_double_eq_tol(lead("a", 3), 0, 1e-9);
}
END_TEST

/* a, 2,000 above z, is deferred at 5 s; z ends. A newcomer is lifted to a while a waits,
 * and to z, who asked last, when a has given up. */
START_TEST(a_deferred_tenant_is_active_for_idle_s)
{
    for (unsigned late = 0; late < 2; late++) {
        if (late)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        uint64_t z = run("z", 0, 0);
        end(run("a", 2000, 0), 2000, 0, 0);
        ck_assert_uint_eq(ask("a", 1, 5000)->action, ADP_DEFER);
        uint64_t again = run("z", 0, 5001);
        end(z, 0, 0, 5001);
        end(again, 0, 0, 5001);
        run("b", 0, late ? 65000 : 64999);
        ck_assert_double_eq_tol(lead("a", 65001), late ? 2000 : 0, 1e-9);
    }
}
END_TEST

START_TEST(who_was_admitted_since_waits_no_more)
{
    stage_create(&s, NULL, 0);
    uint64_t z = run("z", 0, 0);
    end(run("a", 2000, 0), 2000, 0, 0);
    ck_assert_uint_eq(ask("a", 1, 0)->action, ADP_DEFER);
    end(run("a", 0, 1), 0, 0, 1);
    uint64_t again = run("z", 0, 2);
    end(z, 0, 0, 2);
    end(again, 0, 0, 2);
    run("b", 0, 3); /* nobody is active: lifted to z, who asked last */
    ck_assert_double_eq_tol(lead("a", 4), 2000, 1e-9);
}
END_TEST

/* z at 1,000 and a at 2,500 in flight, y at 0 idle. After a reload z's outcome may go to the
 * instance before or to this one; either way z is active until it is idle, and y is not. */
START_TEST(what_was_in_flight_before_a_reload_counts_as_waiting)
{
    for (unsigned reported = 0; reported < 2; reported++) {
        if (reported)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        end(run("y", 0, 1000), 0, 0, 1000);
        uint64_t z = run("z", 1000, 1000);
        uint64_t a = run("a", 1500, 1000);
        stage_reload(&s);
        if (reported) {
            end(z, 1000, 0, 1000);
            end(a, 1500, 0, 1000);
        }
        ck_assert_double_eq_tol(lead("a", 60999), 1500, 1e-9);
        ck_assert_uint_eq(s.verdict.action, ADP_DEFER);
        ck_assert_uint_eq(ask("a", 1, 61000)->action, ADP_ADMIT); /* alone now */
    }
}
END_TEST

/* One request of a's from before the reload and one from after it: a is the least served,
 * with that one in flight, until its own outcome comes. */
START_TEST(an_outcome_of_a_forerunners_ticket_lands_no_other)
{
    stage_create(&s, NULL, 0);
    uint64_t before = run("a", 0, 0);
    stage_reload(&s);
    uint64_t own = run("a", 0, 0);
    run("b", 5000, 0);
    for (uint32_t kind = ADP_DONE; kind <= ADP_LOST; kind++) {
        stage_end(&s, before, kind, -1, -1, 0);
        ck_assert_uint_eq(ask("b", 1, 0)->action, ADP_DEFER);
    }
    end(own, 0, 0, 0);
    ck_assert_uint_eq(ask("b", 1, 0)->action, ADP_ADMIT); /* b is alone */
}
END_TEST

/* The charge that makes room is z's, from before the reload. */
START_TEST(a_forerunners_charge_that_makes_room_lands_no_other)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    for (unsigned i = 0; i < 4095; i++)
        run("a", 1000, 0);
    stage_reload(&s);
    run("z", 0, 1);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_DEFER);
}
END_TEST

START_TEST(service_is_forgotten_by_half_lives)
{
    stage_set(&s, "half_life_s", 10);
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        run("z", 0, 0);
        uint64_t ticket = run("a", 4000, 0);
        if (reload)
            stage_reload(&s);
        ck_assert_double_eq_tol(lead("a", 10000), 2000, 1e-6);
        ck_assert_double_eq_tol(lead("a", 20000), 1000, 1e-6);
        if (reload)
            stage_reload(&s);
        /* 1,000 tokens less than was charged at 0 ms are 250 less now */
        end(ticket, 3000, 0, 20000);
        ck_assert_double_eq_tol(lead("a", 20000), 750, 1e-6);
    }
}
END_TEST

/* y was given 12,000 and is gone. At 11 s: 1,200 a second, two are active, so that z gains
 * 600 a second on a, who is 2,000 too far ahead: 3,333 ms, spread by half. */
START_TEST(the_retry_time_is_what_the_least_served_is_given)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    run("a", 3000, 0);
    uint64_t y = run("y", 12000, 0);
    end(y, 12000, 0, 1000);
    ck_assert_uint_eq(ask("a", 1, 10999)->set, ADP_SET_MARGIN); /* not measured yet */
    for (unsigned i = 0; i < 10; i++) {
        s.draw = i / 10.0;
        ck_assert_uint_eq(ask("a", 1, 11000)->set, ADP_SET_MARGIN | ADP_SET_RETRY);
        ck_assert_uint_ge(s.verdict.retry_after_ms, 3334);
        ck_assert_uint_le(s.verdict.retry_after_ms, 5000);
    }
}
END_TEST

START_TEST(absence_counts_as_saturated_or_is_left_out)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    run("a", 3000, 0);
    stage_signal(&s, "queue_depth", ABSENT);
    stage_signal(&s, "kv_pressure", ABSENT);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_DEFER);
    stage_set(&s, "absent_saturated", 0);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_ADMIT);
    ck_assert_uint_eq(s.verdict.set, 0);
}
END_TEST

START_TEST(readings_per_engine_go_before_the_pool)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    run("a", 3000, 0);
    stage_engine(&s, 0, "queue_depth", 8); /* (1.6 + 0) / 2 */
    stage_engine(&s, 0, "kv_pressure", 0);
    stage_engine(&s, 1, "queue_depth", 0);
    stage_engine(&s, 1, "kv_pressure", 0);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_ADMIT);
    ck_assert_double_eq_tol(s.verdict.margin, -0.2, 1e-12);
}
END_TEST

START_TEST(each_signal_is_read_of_the_engines_or_else_of_the_pool)
{
    const struct mixed_pool *pool = &mixed_pools[_i];
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    run("a", 3000, 0); /* 2,000 more than it may be ahead when there is no room */
    mixed_pool_set(&s, pool);
    const adp_verdict *w = ask("a", 0, 1);
    bool room = pool->saturation < 1;
    ck_assert_msg(w->action == (room ? ADP_ADMIT : ADP_DEFER), "%s", pool->claim);
    ck_assert_double_eq_tol(w->margin, room ? pool->saturation - 1 : 2, 1e-12);
}
END_TEST

START_TEST(more_tenants_than_there_is_room_for_drop_the_longest_idle)
{
    stage_set(&s, "tenants", 2);
    stage_create(&s, NULL, 0);
    uint64_t a = run("a", 5000, 0);
    run("b", 0, 1); /* lifted to 5,000 */
    run("c", 0, 2); /* a goes */
    end(a, 9000, 9000, 2);
    ck_assert_double_eq_tol(lead("b", 3), 0, 1e-9);
    ck_assert_double_eq_tol(lead("a", 4), 0, 1e-9); /* new again; c goes */
}
END_TEST

START_TEST(a_ticket_of_a_counter_that_went_settles_with_nobody)
{
    stage_set(&s, "tenants", 2);
    for (unsigned reload = 0; reload < 2; reload++) {
        if (reload)
            s.loaded->policy.destroy(s.self);
        stage_create(&s, NULL, 0);
        uint64_t old = run("a", 5000, 0);
        run("b", 0, 1);                   /* lifted to 5,000 */
        run("c", 0, 2);                   /* likewise; a goes */
        uint64_t now = run("a", 3000, 3); /* likewise, and 3,000; b goes */
        if (reload)
            stage_reload(&s);
        end(old, 0, 0, 4);
        ck_assert_double_eq_tol(lead("a", 4), 3000, 1e-9);
        end(now, 2500, 0, 5); /* what is of this one is put right */
        ck_assert_double_eq_tol(lead("a", 5), 2500, 1e-9);
    }
}
END_TEST

static const uint32_t foreign[] = { ADP_NOT_RUN, ADP_LOST, ADP_CANCELLED, ADP_FAILED,
                                    ADP_DONE };

/* Saved with a at 1,000, z at 0. The forerunner charges a 500 more, the instance that is
 * made of what was saved 200; or one that starts afresh, to which z comes first. */
START_TEST(a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing)
{
    static unsigned char saved[STAGE_SAVED];
    bool afresh = _i;
    uint64_t ms = afresh ? 1 : 0;
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    uint64_t before = run("a", 1000, 0);
    uint64_t len = stage_save(&s, saved);
    uint64_t after = run("a", 500, 0);
    stage_restart(&s, afresh ? NULL : saved, afresh ? 0 : len);
    if (afresh)
        run("z", 0, ms);
    uint64_t own = run("a", afresh ? 1200 : 200, ms);
    ck_assert(own != after && own != before);
    ck_assert_double_eq_tol(lead("a", ms), 1200, 1e-9);
    for (int i = 0; i < STAGE_N(foreign); i++) {
        stage_end(&s, after, foreign[i], 1, 1, ms);
        ck_assert_double_eq_tol(lead("a", ms), 1200, 1e-9);
    }
    stage_end(&s, own, ADP_NOT_RUN, -1, -1, ms);
    ck_assert_double_eq_tol(lead("a", ms), afresh ? 0 : 1000, 1e-9);
    stage_end(&s, before, ADP_NOT_RUN, -1, -1, ms); /* it was charged when saved */
    ck_assert_double_eq_tol(lead("a", ms), 0, 1e-9);
}
END_TEST

START_TEST(more_in_flight_than_there_is_room_for_are_forgotten)
{
    stage_create(&s, NULL, 0);
    run("z", 0, 0);
    for (unsigned i = 0; i < 4095; i++)
        run("a", 1000, 0);
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_DEFER);
    run("a", 1000, 1); /* z's only one is in flight no more */
    ck_assert_uint_eq(ask("a", 1, 1)->action, ADP_ADMIT);
}
END_TEST

START_TEST(a_full_state_fits_and_a_spoilt_one_is_a_fresh_start)
{
    stage_set(&s, "tenants", 1024);
    stage_create(&s, NULL, 0);
    for (unsigned i = 0; i < 5000; i++) {
        char tenant[16];
        snprintf(tenant, sizeof tenant, "t%u", i);
        run(tenant, 1, i);
    }
    stage_reload(&s);
    stage_spoilt(&s);
}
END_TEST

START_TEST(a_small_state_is_refused_wherever_it_is_cut)
{
    stage_create(&s, NULL, 0);
    run("a", 100, 0);
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
    Suite *suite = suite_create("tenant_fair");
    TCase *t = tcase_create("tenant_fair");
    tcase_set_timeout(t, 60); /* a full table is walked, under sanitizers too */
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_one_ahead_waits_while_there_is_no_room, 0, 2);
    tcase_add_test(t, a_tenant_alone_never_waits);
    tcase_add_test(t, nobody_waits_for_those_who_have_gone);
    tcase_add_test(t, those_without_a_tenant_are_one_tenant);
    tcase_add_loop_test(t, an_outcome_puts_the_charge_right, 0, STAGE_N(ends));
    tcase_add_test(t, an_output_is_expected_as_the_last_ones_were);
    tcase_add_test(t, who_comes_back_is_lifted_to_the_least_of_the_active);
    tcase_add_test(t, who_comes_back_is_never_lowered);
    tcase_add_test(t, with_nobody_active_it_is_lifted_to_who_asked_last);
    tcase_add_test(t, a_deferred_tenant_is_active_for_idle_s);
    tcase_add_test(t, who_was_admitted_since_waits_no_more);
    tcase_add_test(t, what_was_in_flight_before_a_reload_counts_as_waiting);
    tcase_add_test(t, an_outcome_of_a_forerunners_ticket_lands_no_other);
    tcase_add_test(t, a_forerunners_charge_that_makes_room_lands_no_other);
    tcase_add_test(t, service_is_forgotten_by_half_lives);
    tcase_add_test(t, the_retry_time_is_what_the_least_served_is_given);
    tcase_add_test(t, absence_counts_as_saturated_or_is_left_out);
    tcase_add_test(t, readings_per_engine_go_before_the_pool);
    tcase_add_loop_test(t, each_signal_is_read_of_the_engines_or_else_of_the_pool, 0,
                        STAGE_N(mixed_pools));
    tcase_add_test(t, more_tenants_than_there_is_room_for_drop_the_longest_idle);
    tcase_add_test(t, a_ticket_of_a_counter_that_went_settles_with_nobody);
    tcase_add_loop_test(
        t, a_ticket_that_the_forerunner_gave_after_the_save_settles_nothing, 0, 2);
    tcase_add_test(t, more_in_flight_than_there_is_room_for_are_forgotten);
    tcase_add_test(t, a_full_state_fits_and_a_spoilt_one_is_a_fresh_start);
    tcase_add_test(t, a_small_state_is_refused_wherever_it_is_cut);
    tcase_add_test(t, its_page_names_every_parameter_and_its_example_loads);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
