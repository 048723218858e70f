/* SPDX-License-Identifier: MIT */
/* A region whose writer died: what is recorded, what the next writer takes over. The death is
 * a policy that jumps out of decide. */
#include "core/recover.h"

#include "tests/core/stage.h"

#include <math.h>
#include <setjmp.h>

static jmp_buf out;

static void die(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)w;
    if (v->request->tenant)
        longjmp(out, 1);
    adp_admit(w);
    w->ticket = 7;
}

static uint64_t returned;
static void take_back(void *self, const adp_outcome *o)
{
    (void)self;
    returned = o->ticket;
}

static const adp_policy mortal = {
    ADP_HEAD,      .name = "mortal",     .threading = ADP_CONCURRENT,
    .decide = die, .outcome = take_back,
};

/* Decides as the lane of a process that dies in the i-th policy. */
static void decide_and_die(struct stage *s, const char *id)
{
    struct adp_facts facts = { .size = sizeof facts, .request_id = id, .tenant = "t" };
    struct adp_decision d;
    if (setjmp(out))
        return;
    adp_decide(s->lane[0], &s->generations, &facts, NULL, &d, NULL);
    ck_abort_msg("it did not die");
}

static void open_with(struct stage *s, const adp_policy *first, const adp_policy *second)
{
    const adp_policy *all[] = { first, second, NULL };
    stage_open(s, all, 1 << 16, 16);
    stage_publish(s, 0.25, 3);
}

static void admit(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static const adp_policy fine = { ADP_HEAD, .name = "fine", .threading = ADP_CONCURRENT,
                                 .decide = admit };

START_TEST(the_request_in_hand_is_recorded_with_the_fault)
{
    struct stage s;
    struct adp_death d;
    open_with(&s, &mortal, NULL);
    s.generation->member[0].reject_on_error = _i == 1;
    decide_and_die(&s, "id-1");
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns + 4000, stage_wall(&s), &d);
    ck_assert(d.in_policy && d.has_request && d.has_id);
    ck_assert_uint_eq(d.generation, 1);
    ck_assert_uint_eq(d.policy, 0);
    ck_assert_uint_eq(d.start_ns, s.now_ns);
    ck_assert_uint_eq(d.records, 1);
    ck_assert(d.id_len == 4 && memcmp(d.id, "id-1", 4) == 0);
    json_t *all = stage_lines(&s), *line = stage_line(all, "verdict", 0);
    ck_assert_str_eq(json_string_value(json_object_get(line, "request_id")), "id-1");
    ck_assert_str_eq(json_string_value(json_object_get(line, "policy")), "p0");
    ck_assert_str_eq(json_string_value(json_object_get(line, "fault")),
                     "the policy died of SIGSEGV");
    ck_assert_str_eq(json_string_value(json_object_get(line, "verdict")),
                     _i ? "reject" : "admit");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), _i ? 503 : 200);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "decide_ns")), 4000);
    ck_assert(json_is_true(json_object_get(line, "enforced")));
    json_t *signals = json_object_get(line, "signals");
    ck_assert_double_eq(json_number_value(json_object_get(signals, "kv_pressure")), 0.25);
    ck_assert_double_eq(json_number_value(json_object_get(signals, "queue_depth")), 3.0);
    ck_assert(json_is_null(json_object_get(signals, "running")));
    json_decref(all);
    stage_close(&s);
}
END_TEST

static const struct {
    double enforce;
    bool reject, governed, rejected;
} unread[] = {
    { 1.0, false, true, false },
    { 1.0, true, true, true },
    { 0.5, true, false, false }, /* whether it was is not known */
};

START_TEST(who_was_answered_unread_has_a_line_without_an_id)
{
    struct stage s;
    open_with(&s, &fine, NULL);
    stage_decide(&s, "before"); /* whose slot is no part of it */
    s.generation->enforce = unread[_i].enforce;
    s.generation->member[0].reject_on_error = unread[_i].reject;
    ck_assert(adp_recover_answered(s.region, 1, s.generation, s.now_ns, stage_wall(&s)));
    json_t *all = stage_lines(&s), *line = stage_line(all, "verdict", 1);
    ck_assert(json_is_null(json_object_get(line, "request_id")));
    ck_assert_str_eq(json_string_value(json_object_get(line, "fault")),
                     "the process died while the request was decided");
    ck_assert_str_eq(json_string_value(json_object_get(line, "verdict")),
                     unread[_i].rejected ? "reject" : "admit");
    ck_assert(json_is_true(json_object_get(line, "enforced")) == unread[_i].governed);
    json_decref(all);
    stage_close(&s);
}
END_TEST

static void refuse(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_defer(w, ADP_R_QUEUE_DEPTH, 0, 2500);
}

static const adp_signal depth[] = { { .name = "queue_depth", .unit = "requests" } };
static const adp_policy refusing = {
    ADP_HEAD,       .name = "refusing", .threading = ADP_CONCURRENT,
    .n_signals = 1, .signals = depth,   .decide = refuse
};

/* Whom it dies of, whether it is governed and on_error rejects; what its line and the host are
 * told. */
static const struct {
    bool shadow, governed, reject;
    const char *verdict, *fault;
    bool admitted;
    uint32_t status, retry_after_ms;
} told[] = {
    { true, true, true, "defer", NULL, false, 503, 2500 },
    { true, false, true, "defer", NULL, true, 200, 0 },
    { false, true, true, "reject", "the policy died of SIGSEGV", false, 503, 0 },
    { false, false, true, "reject", "the policy died of SIGSEGV", true, 200, 0 },
    { false, true, false, "admit", "the policy died of SIGSEGV", true, 200, 0 },
};

START_TEST(the_host_is_told_what_the_line_of_the_governing_policy_says)
{
    struct stage s;
    struct adp_death death;
    struct adp_decision d;
    if (told[_i].shadow)
        open_with(&s, &refusing, &mortal);
    else
        open_with(&s, &mortal, &fine);
    s.generation->enforce = told[_i].governed;
    s.generation->member[0].reject_on_error = told[_i].reject;
    uint64_t records = adp_region_ring(s.region, 1)->next_seq;
    ck_assert(!adp_recover_told(s.region, 1, records, &d));
    decide_and_die(&s, "id-3");
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, stage_wall(&s), &death);
    ck_assert(adp_recover_told(s.region, 1, records, &d));
    json_t *all = stage_lines(&s), *line = stage_line(all, "verdict", told[_i].shadow);
    ck_assert_str_eq(json_string_value(json_object_get(line, "role")), "governing");
    ck_assert_str_eq(json_string_value(json_object_get(line, "verdict")),
                     told[_i].verdict);
    ck_assert(json_is_true(json_object_get(line, "enforced")) == told[_i].governed);
    const char *fault = json_string_value(json_object_get(line, "fault"));
    ck_assert(!fault == !told[_i].fault && (!fault || !strcmp(fault, told[_i].fault)));
    ck_assert(!d.fault == !fault && (!fault || !strcmp(d.fault, fault)));
    ck_assert_int_eq(d.admitted, told[_i].admitted);
    ck_assert_uint_eq(d.status, told[_i].status);
    ck_assert_uint_eq(d.retry_after_ms, told[_i].retry_after_ms);
    ck_assert_int_eq(d.enforced, told[_i].governed);
    /* Of the request after it nothing is told yet. */
    records = adp_region_ring(s.region, 1)->next_seq;
    ck_assert(!adp_recover_told(s.region, 1, records, &d));
    ck_assert(!adp_recover_told(s.region, 0, 0, &d) &&
              !adp_recover_told(s.region, 99, 0, &d));
    json_decref(all);
    stage_close(&s);
}
END_TEST

START_TEST(a_shadow_dies_and_the_governing_policy_keeps_its_word)
{
    struct stage s;
    struct adp_death d;
    open_with(&s, &fine, &mortal);
    decide_and_die(&s, "id-2");
    adp_recover_lane(s.region, 1, ADP_FAULT_HANG, s.now_ns, stage_wall(&s), &d);
    ck_assert_uint_eq(d.policy, 1);
    ck_assert_uint_eq(d.records, 2);
    json_t *all = stage_lines(&s);
    json_t *shadow = stage_line(all, "verdict", 0),
           *governing = stage_line(all, "verdict", 1);
    ck_assert_str_eq(json_string_value(json_object_get(shadow, "role")), "shadow");
    ck_assert_str_eq(json_string_value(json_object_get(shadow, "fault")),
                     "the policy did not return");
    ck_assert_str_eq(json_string_value(json_object_get(governing, "role")), "governing");
    ck_assert(json_is_null(json_object_get(governing, "fault")));
    json_decref(all);
    stage_close(&s);
}
END_TEST

START_TEST(a_lane_that_did_nothing_leaves_no_record_and_is_idle_afterwards)
{
    struct stage s;
    struct adp_death d;
    open_with(&s, &mortal, NULL);
    stage_decide(&s, "done");
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, 1, &d);
    ck_assert(!d.in_policy && !d.has_request);
    decide_and_die(&s, "dying");
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, 1, &d);
    ck_assert_uint_eq(d.records, 1);
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, 1, &d);
    ck_assert(!d.in_policy && !d.has_request);
    ck_assert_uint_eq(adp_generation_named(s.region, 1), 0);
    stage_close(&s);
}
END_TEST

/* Each breaks one thing that a lane could not have written. */
static const struct {
    const char *name;
    uint64_t or_asked;
    double draw;
    uint64_t mono_ahead_ns;
    bool sound;
} slots[] = {
    { "as it was", 0, 0.5, 0, true },
    { "unknown bits", 1u << 5, 0.5, 0, false },
    { "draw of 1", 0, 1.0, 0, false },
    { "draw below 0", 0, -0.1, 0, false },
    { "draw is no number", 0, NAN, 0, false },
    { "begun in the future", 0, 0.5, 1, false },
};

START_TEST(a_slot_that_no_lane_can_have_written_is_no_request)
{
    struct stage s;
    struct adp_death d;
    open_with(&s, &mortal, NULL);
    decide_and_die(&s, "x");
    struct adp_call *call = adp_region_call(s.region, 1);
    call->asked |= slots[_i].or_asked;
    call->draw = slots[_i].draw;
    call->mono_ns += slots[_i].mono_ahead_ns;
    adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, 1, &d);
    ck_assert_msg(d.has_request == slots[_i].sound, "%s", slots[_i].name);
    ck_assert_uint_eq(d.records, slots[_i].sound);
    stage_close(&s);
}
END_TEST

START_TEST(whatever_a_ring_says_a_record_lies_within_it)
{
    static const uint64_t tails[] = { 3, UINT64_MAX, 0x5b5b5b5b5b5b5b5bu, 65535,
                                      1u << 20 };
    struct stage s;
    struct adp_death d;
    open_with(&s, &mortal, NULL);
    struct adp_ring *ring = adp_region_ring(s.region, 1);
    uint8_t *at = adp_region_bytes_of(s.region, 1), before[64], after[64];
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        memcpy(before, at - 64, 64);
        memcpy(after, at + (1 << 16), 64);
        decide_and_die(&s, "x");
        ring->tail = ring->head = ring->seen_head = tails[i];
        adp_recover_lane(s.region, 1, ADP_FAULT_SEGV, s.now_ns, 1, &d);
        ck_assert_mem_eq(before, at - 64, 64);
        ck_assert_mem_eq(after, at + (1 << 16), 64);
    }
    stage_close(&s);
}
END_TEST

/* Takes the region over under another number, as the next process does. */
static void take_over(struct stage *s, uint64_t saved_ns)
{
    const uint64_t saved[ADP_MAX_POLICIES] = { saved_ns };
    uint64_t before = *adp_region_newest(s->region);
    adp_lane_destroy(s->lane[0]);
    s->generation->number = (uint32_t)before + 1;
    adp_recover_tickets(s->region, s->generation, before, saved);
    s->generations.table[before % ADP_GENERATIONS] = NULL;
    adp_generation_add(&s->generations, s->generation);
    adp_generation_switch(&s->generations, s->generation->number);
    ck_assert_int_eq(adp_lane_create(&s->lane[0], s->region, 1, &s->clock, true, NULL),
                     0);
}

static int settle(struct stage *s, const char *id)
{
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name name, kept;
    uint64_t handle;
    adp_name_set(&name, id);
    returned = 0;
    return adp_ticket_settle(s->lane[0], &s->generations, 0, &name, &o, &handle, &kept);
}

START_TEST(tickets_go_to_the_instance_that_knows_them)
{
    struct stage s;
    open_with(&s, &mortal, NULL);
    stage_decide(&s, "early");
    s.now_ns += 10;
    stage_decide(&s, "late");
    take_over(&s, s.now_ns - 5); /* saved in between */
    ck_assert_uint_eq(adp_generation_waiting(s.region, 2), 2);
    ck_assert_int_eq(settle(&s, "early"), 0);
    ck_assert_uint_eq(returned, 7);
    ck_assert_int_eq(settle(&s, "late"), 0);
    ck_assert_uint_eq(returned, 0);
    ck_assert_int_eq(settle(&s, "early"), ADP_ENOENT);
    ck_assert_uint_eq(adp_generation_waiting(s.region, 2), 0);
    stage_close(&s);
}
END_TEST

START_TEST(the_next_writer_loses_no_ticket_before_its_turn)
{
    struct stage s;
    char id[16];
    open_with(&s, &mortal, NULL); /* 16 tickets */
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "r%d", i);
        stage_decide(&s, id);
    }
    take_over(&s, s.now_ns); /* r4 … r19 wait */
    stage_decide(&s, "one more");
    ck_assert_int_eq(settle(&s, "r4"), ADP_ENOENT); /* the oldest, and no other */
    for (int i = 5; i < 20; i++) {
        snprintf(id, sizeof id, "r%d", i);
        ck_assert_int_eq(settle(&s, id), 0);
    }
    stage_close(&s);
}
END_TEST

START_TEST(a_ticket_that_was_being_settled_waits_again)
{
    struct stage s;
    open_with(&s, &mortal, NULL);
    stage_decide(&s, "a");
    /* SETTLING, in the process that died. */
    adp_region_tickets(s.region, 1)[0].state ^= 3;
    take_over(&s, s.now_ns);
    ck_assert_int_eq(settle(&s, "a"), 0);
    ck_assert_uint_eq(returned, 7);
    stage_close(&s);
}
END_TEST

START_TEST(the_snapshot_stays_in_force_and_ages)
{
    struct stage s;
    open_with(&s, &mortal, NULL);
    uint64_t first = *adp_region_current(s.region, 1);
    s.generation->number = 2;
    ck_assert(adp_recover_snapshot(s.region, s.generation, 1));
    ck_assert_uint_eq(*adp_region_current(s.region, 2), first);
    ck_assert_uint_eq(*adp_region_current(s.region, 1), 0);
    *adp_region_current(s.region, 2) = 1000000; /* no such snapshot */
    s.generation->number = 3;
    ck_assert(!adp_recover_snapshot(s.region, s.generation, 2));
    ck_assert(!adp_recover_snapshot(s.region, s.generation, 0));
    stage_close(&s);
}
END_TEST

START_TEST(a_quarantined_policy_is_not_asked_and_its_fault_is_recorded)
{
    struct stage s;
    open_with(&s, &mortal, NULL);
    s.generation->member[0].quarantined = true;
    s.generation->member[0].reject_on_error = true;
    struct adp_facts facts = { .size = sizeof facts, .request_id = "q", .tenant = "t" };
    struct adp_decision d;
    ck_assert_int_eq(adp_decide(s.lane[0], &s.generations, &facts, NULL, &d, NULL), 0);
    ck_assert(d.admitted);
    ck_assert_str_eq(d.fault, "the policy is in quarantine");
    stage_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover");
    TCase *t = tcase_create("recover");
    tcase_add_loop_test(t, the_request_in_hand_is_recorded_with_the_fault, 0, 2);
    tcase_add_loop_test(t, who_was_answered_unread_has_a_line_without_an_id, 0,
                        (int)(sizeof unread / sizeof unread[0]));
    tcase_add_test(t, a_shadow_dies_and_the_governing_policy_keeps_its_word);
    tcase_add_loop_test(t, the_host_is_told_what_the_line_of_the_governing_policy_says, 0,
                        sizeof told / sizeof told[0]);
    tcase_add_test(t, a_lane_that_did_nothing_leaves_no_record_and_is_idle_afterwards);
    tcase_add_loop_test(t, a_slot_that_no_lane_can_have_written_is_no_request, 0,
                        (int)(sizeof slots / sizeof slots[0]));
    tcase_add_test(t, whatever_a_ring_says_a_record_lies_within_it);
    tcase_add_test(t, tickets_go_to_the_instance_that_knows_them);
    tcase_add_test(t, the_next_writer_loses_no_ticket_before_its_turn);
    tcase_add_test(t, a_ticket_that_was_being_settled_waits_again);
    tcase_add_test(t, the_snapshot_stays_in_force_and_ages);
    tcase_add_test(t, a_quarantined_policy_is_not_asked_and_its_fault_is_recorded);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
