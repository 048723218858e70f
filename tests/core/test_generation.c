/* SPDX-License-Identifier: MIT */
/* Generations: who is inside, who waits, whom an outcome reaches. */
#include "tests/core/stage.h"

#include <pthread.h>

static struct stage stage;
static struct adp_generation *next; /* number 2, not in force */

struct self {
    uint64_t given, back, last;
};
static struct self self[2];

static void decide(void *of, const struct adp_view *v, struct adp_verdict *w)
{
    struct self *s = of;
    (void)v;
    adp_admit(w);
    w->ticket = ++s->given;
}

static void outcome(void *of, const struct adp_outcome *o)
{
    struct self *s = of;
    s->back++;
    s->last = o->ticket;
}

static const struct adp_policy policy = { ADP_HEAD, .name = "generation",
                                          .threading = ADP_SERIAL, .decide = decide,
                                          .outcome = outcome };

static void setup(void)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    memset(self, 0, sizeof self);
    stage_open(&stage, policies, 1 << 16, 16);
    stage.generation->member[0].self = &self[0];
    size_t size = (sizeof *next + 63) & ~(size_t)63;
    next = aligned_alloc(ADP_LINE_BYTES, size);
    ck_assert_ptr_nonnull(next);
    memcpy(next, stage.generation, sizeof *next);
    next->number = 2;
    next->member[0].self = &self[1];
    adp_generation_add(&stage.generations, next);
}

static void teardown(void)
{
    stage_close(&stage);
    free(next);
}

static int settle(uint64_t handle)
{
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, kept;
    return adp_ticket_settle(stage.lane[1], &stage.generations, handle, &none, &o,
                             &handle, &kept);
}

START_TEST(who_is_inside_is_named_and_stays_in_what_was_entered)
{
    ck_assert_ptr_eq(adp_generation_enter(stage.region, 2, &stage.generations),
                     stage.generation);
    ck_assert_uint_eq(adp_generation_named(stage.region, 1), 2);
    adp_generation_switch(&stage.generations, 2);
    ck_assert_uint_eq(adp_generation_named(stage.region, 1), 2);
    ck_assert_uint_eq(adp_generation_named(stage.region, 2), 0);
    ck_assert_ptr_eq(adp_generation_enter(stage.region, 1, &stage.generations), next);
    adp_generation_leave(stage.region, 2);
    ck_assert_uint_eq(adp_generation_named(stage.region, 1), 0);
    ck_assert_uint_eq(adp_generation_named(stage.region, 2), 1);
    adp_generation_leave(stage.region, 1);
    ck_assert_uint_eq(adp_generation_named(stage.region, 2), 0);
}
END_TEST

START_TEST(a_generation_is_found_by_its_number_until_it_is_removed)
{
    ck_assert_ptr_eq(adp_generation_find(&stage.generations, 1), stage.generation);
    ck_assert_ptr_null(adp_generation_find(&stage.generations, 1 + ADP_GENERATIONS));
    adp_generation_remove(&stage.generations, 1);
    ck_assert_ptr_null(adp_generation_find(&stage.generations, 1));
    ck_assert_ptr_eq(adp_generation_find(&stage.generations, 2), next);
}
END_TEST

START_TEST(tickets_of_a_generation_are_counted_until_they_are_delivered)
{
    uint64_t a = stage_decide(&stage, "a").id, b = stage_decide(&stage, "b").id;
    adp_generation_switch(&stage.generations, 2);
    uint64_t c = stage_decide(&stage, "c").id;
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 1), 2);
    ck_assert_int_eq(settle(b), 0);
    ck_assert_int_eq(settle(b), ADP_ENOENT);
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 1), 1);
    ck_assert_uint_eq(self[0].last, 2); /* its own member's */
    ck_assert_int_eq(settle(c), 0);
    ck_assert_uint_eq(self[1].last, 1);
    ck_assert_uint_eq(
        adp_ticket_lose_generation(stage.region, 1, &stage.generations, 2, 0), 0);
    ck_assert_uint_eq(
        adp_ticket_lose_generation(stage.region, 1, &stage.generations, 1, 0), 1);
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 1), 0);
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 2), 0);
    ck_assert_uint_eq(self[0].back, 2);
    ck_assert_int_eq(settle(a), ADP_ENOENT);
}
END_TEST

START_TEST(slots_that_are_taken_again_count_to_whom_they_belonged)
{
    for (int i = 0; i < 16; i++)
        stage_decide(&stage, NULL);
    adp_generation_switch(&stage.generations, 2);
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 1), 16);
    for (int i = 0; i < 20; i++) /* the table holds 16: all of the first are lost */
        stage_decide(&stage, NULL);
    ck_assert_uint_eq(adp_generation_waiting(stage.region, 1), 0);
    ck_assert_uint_eq(self[0].back, 16);
    ck_assert_uint_eq(self[1].back, 4);
}
END_TEST

START_TEST(outcomes_go_to_the_heir_of_the_heir)
{
    struct adp_member third = { .policy = &policy, .self = &self[1] };
    uint64_t a = stage_decide(&stage, "a").id;
    stage.generation->member[0].heir = &next->member[0];
    next->member[0].heir = &third;
    next->member[0].self = NULL;
    adp_generation_switch(&stage.generations, 2);
    ck_assert_int_eq(settle(a), 0);
    ck_assert_uint_eq(self[0].back, 0);
    ck_assert_uint_eq(self[1].back, 1);
}
END_TEST

/* --- the gate --- */

static _Atomic int through;

static void *decide_once(void *arg)
{
    (void)arg;
    struct adp_decision d;
    adp_decide(stage.lane[1], &stage.generations, NULL, NULL, &d, NULL);
    atomic_store(&through, 1);
    return NULL;
}

START_TEST(a_closed_gate_lets_nobody_in_until_it_opens)
{
    pthread_t thread;
    adp_generation_close(&stage.generations);
    pthread_create(&thread, NULL, decide_once, NULL);
    /* Whenever it comes by, it is in nobody's way and has decided nothing. */
    for (int i = 0; i < 1000; i++) {
        adp_generation_named(stage.region, 1);
        ck_assert_int_eq(atomic_load(&through), 0);
    }
    while (adp_generation_named(stage.region, 1))
        ;
    self[0].given = 40; /* ours alone, as it is quiet */
    adp_generation_open(&stage.generations);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(self[0].given, 41);
    adp_generation_close(&stage.generations);
    adp_generation_switch(&stage.generations, 2); /* opens it */
    stage_decide(&stage, "a");
    ck_assert_uint_eq(self[1].given, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("generation");
    TCase *t = tcase_create("generation");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, who_is_inside_is_named_and_stays_in_what_was_entered);
    tcase_add_test(t, a_generation_is_found_by_its_number_until_it_is_removed);
    tcase_add_test(t, tickets_of_a_generation_are_counted_until_they_are_delivered);
    tcase_add_test(t, slots_that_are_taken_again_count_to_whom_they_belonged);
    tcase_add_test(t, outcomes_go_to_the_heir_of_the_heir);
    tcase_add_test(t, a_closed_gate_lets_nobody_in_until_it_opens);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK); /* TSan and fork do not go together */
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
