/* SPDX-License-Identifier: MIT */
#include "tests/core/stage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct stage stage;
static struct adp_outcome seen[64]; /* outcomes the policies were given, in order */
static unsigned n_seen;

/* --- policies --- */

enum { KV, QUEUE };
static const struct adp_signal reads[] = { { "kv_pressure", "ratio", 0, 0 },
                                           { "queue_depth", "requests", 0, 0 } };

static void kv_wall(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    if (adp_ge(v, KV, 0)) {
        adp_reject(w, ADP_R_KV_PRESSURE, KV);
    } else if (adp_gt(v, QUEUE, 1))
        adp_defer(w, ADP_R_QUEUE_DEPTH, ADP_NONE, 200.0);
    else
        adp_admit(w);
}

static void admits(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static void undecided(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    (void)w;
}

static void unknown_action(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    w->action = 4;
}

static void unknown_reason(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_reject(w, 99, ADP_NONE);
}

static void no_reason(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_reject(w, 0, ADP_NONE);
}

static void own_error_reason(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_reject(w, ADP_R_POLICY_ERROR, ADP_NONE);
}

static void unknown_set(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
    w->set = ADP_SET_RETRY << 1;
}

static void bad_numbers(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
    w->set = ADP_SET_MARGIN | ADP_SET_P | ADP_SET_RETRY;
    w->margin = 0.0 / (v->draw - v->draw);
    w->p = 1.5;
    w->binding = 17;
}

static void ticketed(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    adp_admit(w);
    w->ticket = v->request->prompt_tokens + 1000;
}

static void refuses_with_ticket(void *self, const struct adp_view *v,
                                struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_reject(w, ADP_R_RATE_LIMIT, ADP_NONE);
    w->ticket = 77;
}

static void remember(void *self, const struct adp_outcome *o)
{
    (void)self;
    seen[n_seen++] = *o;
}

#define POLICY(fn)                                                                       \
    static const struct adp_policy fn##_policy = { ADP_HEAD,                             \
                                                   .n_signals = 2,                       \
                                                   .signals = reads,                     \
                                                   .name = #fn,                          \
                                                   .threading = ADP_CONCURRENT,          \
                                                   .decide = fn,                         \
                                                   .outcome = remember };
POLICY(kv_wall)
POLICY(admits)
POLICY(undecided)
POLICY(unknown_action)
POLICY(unknown_reason)
POLICY(no_reason)
POLICY(own_error_reason)
POLICY(unknown_set)
POLICY(bad_numbers)
POLICY(ticketed)
POLICY(refuses_with_ticket)

static void open_with(const struct adp_policy *a, const struct adp_policy *b)
{
    const struct adp_policy *policies[] = { a, b, NULL };
    stage_open(&stage, policies, 1 << 16, 16);
    n_seen = 0;
}

static void teardown(void)
{
    stage_close(&stage);
}

/* --- verdicts --- */

static const struct {
    const char *name;
    double kv, queue; /* negative: not on the page */
    uint32_t admitted, status, retry;
    const char *reason;
} verdicts[] = {
    { "below both", 0.5, 3, 1, 200, 0, NULL },
    { "kv at the threshold", 0.9, 3, 0, 503, 0, "kv_pressure" },
    { "queue above", 0.5, 33, 0, 503, 200, "queue_depth" },
    { "queue at the bound", 0.5, 32, 1, 200, 0, NULL },
    { "kv absent", -1, 3, 1, 200, 0, NULL },
    { "kv absent, queue above", -1, 33, 0, 503, 200, "queue_depth" },
    { "kv out of range is absent, not full", 95, 3, 1, 200, 0, NULL },
    { "nothing there", -1, -1, 1, 200, 0, NULL },
};

START_TEST(verdicts_follow_signals_and_absence)
{
    open_with(&kv_wall_policy, NULL);
    stage_publish(&stage, verdicts[_i].kv, verdicts[_i].queue);
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_msg(d.admitted == verdicts[_i].admitted, "%s", verdicts[_i].name);
    ck_assert_uint_eq(d.status, verdicts[_i].status);
    ck_assert_uint_eq(d.retry_after_ms, verdicts[_i].retry);
    if (verdicts[_i].reason)
        ck_assert_pstr_eq(d.reason, verdicts[_i].reason);
    else
        ck_assert_ptr_null(d.reason);
}
END_TEST

START_TEST(before_the_first_publish_every_signal_is_absent)
{
    open_with(&kv_wall_policy, NULL);
    ck_assert_uint_eq(stage_decide(&stage, "r1").admitted, 1);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert(
        json_is_null(json_object_get(json_object_get(line, "signals"), "kv_pressure")));
    ck_assert_str_eq(stage_text(json_object_get(line, "whys"), "kv_pressure"),
                     "no_snapshot");
    ck_assert_ptr_null(json_object_get(line, "snapshot"));
    json_decref(all);
}
END_TEST

START_TEST(readings_age_out_when_publishing_has_died)
{
    open_with(&kv_wall_policy, NULL);
    stage_publish(&stage, 0.95, 3);
    ck_assert_uint_eq(stage_decide(&stage, "r1").admitted, 0);
    stage.now_ns += 5000000000u; /* the dictionary's max_age of kv_pressure */
    ck_assert_uint_eq(stage_decide(&stage, "r2").admitted, 1);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 1);
    ck_assert(
        json_is_null(json_object_get(json_object_get(line, "signals"), "kv_pressure")));
    ck_assert_str_eq(stage_text(json_object_get(line, "whys"), "kv_pressure"), "stale");
    json_decref(all);
}
END_TEST

/* --- faults --- */

static const struct {
    const struct adp_policy *policy;
    const char *fault;
} faults[] = {
    { &undecided_policy, "the policy set no action" },
    { &unknown_action_policy, "the policy set an unknown action" },
    { &unknown_reason_policy, "the policy refused without a known reason" },
    { &no_reason_policy, "the policy refused without a known reason" },
    { &own_error_reason_policy, "the policy refused without a known reason" },
    { &unknown_set_policy, "the policy set fields that are not known" },
};

START_TEST(a_fault_admits_unless_told_otherwise)
{
    open_with(faults[_i].policy, NULL);
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_uint_eq(d.admitted, 1);
    ck_assert_uint_eq(d.status, 200);
    ck_assert_str_eq(d.fault, faults[_i].fault);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_str_eq(stage_text(line, "verdict"), "admit");
    ck_assert_str_eq(stage_text(line, "fault"), faults[_i].fault);
    ck_assert_uint_eq(stage.lane[0]->faults, 1);
    json_decref(all);
}
END_TEST

START_TEST(on_error_reject_answers_503_policy_error)
{
    open_with(faults[_i].policy, NULL);
    stage.generation->member[0].reject_on_error = true;
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_uint_eq(d.admitted, 0);
    ck_assert_uint_eq(d.status, 503);
    ck_assert_str_eq(d.reason, "policy_error");
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_str_eq(stage_text(line, "reason"), "policy_error");
    ck_assert_str_eq(stage_text(line, "fault"), faults[_i].fault);
    json_decref(all);
}
END_TEST

START_TEST(numbers_outside_their_range_count_as_not_set)
{
    open_with(&bad_numbers_policy, NULL);
    stage_decide(&stage, "r1");
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_ptr_null(json_object_get(line, "margin"));
    ck_assert_ptr_null(json_object_get(line, "p"));
    ck_assert_ptr_null(json_object_get(line, "binding"));
    ck_assert(json_is_null(json_object_get(line, "retry_after_ms")));
    json_decref(all);
}
END_TEST

/* --- enforcement --- */

START_TEST(an_unenforced_refusal_is_recorded_and_answered_admit_200)
{
    open_with(&kv_wall_policy, NULL);
    stage.generation->enforce = 0.0;
    stage_publish(&stage, 0.95, 0);
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_uint_eq(d.admitted, 1);
    ck_assert_uint_eq(d.status, 200);
    ck_assert_uint_eq(d.enforced, 0);
    ck_assert_uint_eq(d.policy_action, ADP_REJECT);
    ck_assert_str_eq(d.reason, "kv_pressure");
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_str_eq(stage_text(line, "verdict"), "reject");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), 503);
    ck_assert(json_is_false(json_object_get(line, "enforced")));
    ck_assert_str_eq(stage_text(line, "arm"), "ungoverned");
    json_decref(all);
}
END_TEST

START_TEST(a_retried_id_gets_the_same_arm_and_draw)
{
    open_with(&kv_wall_policy, NULL);
    stage.generation->enforce = 0.5;
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        struct adp_decision a = stage_decide(&stage, id);
        stage.now_ns += 12345;
        struct adp_decision b = stage_decide(&stage, id);
        ck_assert_uint_eq(a.enforced, b.enforced);
        ck_assert_uint_eq(a.enforced, adp_split_of("e", 1, id, strlen(id)).arm < 0.5);
    }
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 40; i += 2)
        ck_assert(
            json_real_value(json_object_get(stage_line(all, "verdict", i), "draw")) ==
            json_real_value(json_object_get(stage_line(all, "verdict", i + 1), "draw")));
    json_decref(all);
}
END_TEST

static const struct {
    double enforce;
    unsigned enforced;
} without_id[] = { { 1.0, 1 }, { 0.999, 0 }, { 0.0, 0 } };

START_TEST(without_an_id_governed_only_when_all_are)
{
    open_with(&kv_wall_policy, NULL);
    stage.generation->enforce = without_id[_i].enforce;
    ck_assert_uint_eq(stage_decide(&stage, NULL).enforced, without_id[_i].enforced);
}
END_TEST

START_TEST(shadows_are_asked_and_recorded_and_never_obeyed)
{
    open_with(&admits_policy, &kv_wall_policy);
    stage_publish(&stage, 0.95, 0);
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_uint_eq(d.admitted, 1);
    json_t *all = stage_lines(&stage);
    json_t *governing = stage_line(all, "verdict", 0),
           *shadow = stage_line(all, "verdict", 1);
    ck_assert_str_eq(stage_text(governing, "role"), "governing");
    ck_assert(json_is_true(json_object_get(governing, "enforced")));
    ck_assert_str_eq(stage_text(shadow, "role"), "shadow");
    ck_assert_str_eq(stage_text(shadow, "policy"), "p1");
    ck_assert_str_eq(stage_text(shadow, "verdict"), "reject");
    ck_assert(json_is_false(json_object_get(shadow, "enforced")));
    ck_assert_str_eq(stage_text(shadow, "id"), stage_text(governing, "id"));
    json_decref(all);
}
END_TEST

/* --- tickets --- */

START_TEST(a_ticket_comes_back_once_with_what_was_measured)
{
    open_with(&ticketed_policy, NULL);
    struct adp_facts facts = { .size = sizeof facts,
                               .request_id = "r1",
                               .present = ADP_PROMPT,
                               .prompt_tokens = 5 };
    struct adp_decision d;
    adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_FAILED, .http_status = 502 };
    struct adp_name none = { 0 }, id;
    uint64_t handle;
    ck_assert_int_eq(adp_ticket_settle(stage.lane[1], &stage.generations, d.id, &none, &o,
                                       &handle, &id),
                     0);
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(seen[0].ticket, 1005);
    ck_assert_uint_eq(seen[0].kind, ADP_FAILED);
    ck_assert_uint_eq(seen[0].http_status, 502);
    ck_assert_uint_eq(handle, d.id);
    ck_assert(id.n == 2 && memcmp(id.p, "r1", 2) == 0);
    ck_assert_int_eq(adp_ticket_settle(stage.lane[1], &stage.generations, d.id, &none, &o,
                                       &handle, &id),
                     ADP_ENOENT);
    ck_assert_uint_eq(n_seen, 1);
}
END_TEST

START_TEST(an_outcome_by_request_id_finds_the_ticket_on_any_lane)
{
    open_with(&ticketed_policy, NULL);
    struct adp_decision d = stage_decide(&stage, "some-request");
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name name, id;
    uint64_t handle = 0;
    adp_name_set(&name, "some-request");
    ck_assert_int_eq(
        adp_ticket_settle(stage.lane[1], &stage.generations, 0, &name, &o, &handle, &id),
        0);
    ck_assert_uint_eq(handle, d.id);
    ck_assert_uint_eq(n_seen, 1);
    adp_name_set(&name, "another");
    ck_assert_int_eq(
        adp_ticket_settle(stage.lane[1], &stage.generations, 0, &name, &o, &handle, &id),
        ADP_ENOENT);
}
END_TEST

START_TEST(a_full_table_makes_the_oldest_lost_exactly_once)
{
    open_with(&ticketed_policy, NULL);
    struct adp_decision first = stage_decide(&stage, "r0");
    for (int i = 1; i < 16; i++)
        stage_decide(&stage, NULL);
    ck_assert_uint_eq(n_seen, 0);
    stage_decide(&stage, NULL); /* the seventeenth of sixteen */
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(seen[0].kind, ADP_LOST);
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, id;
    uint64_t handle;
    ck_assert_int_eq(adp_ticket_settle(stage.lane[0], &stage.generations, first.id, &none,
                                       &o, &handle, &id),
                     ADP_ENOENT);
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(adp_ticket_lose_all(stage.region, 1, &stage.generations, 0), 16);
    ck_assert_uint_eq(n_seen, 17);
}
END_TEST

START_TEST(a_ticket_without_outcome_in_time_is_lost)
{
    open_with(&ticketed_policy, NULL);
    stage_decide(&stage, "r0");
    stage.now_ns += stage.generation->ticket_ns + 1;
    /* Each decision looks at one slot; after a round of them the old one has been seen.
     */
    for (int i = 0; i < 16 && n_seen == 0; i++) {
        struct adp_decision d = stage_decide(&stage, NULL);
        struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
        struct adp_name none = { 0 }, id;
        uint64_t handle;
        if (n_seen == 0)
            adp_ticket_settle(stage.lane[0], &stage.generations, d.id, &none, &o, &handle,
                              &id);
        if (n_seen && seen[0].kind == ADP_DONE)
            n_seen = 0;
    }
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(seen[0].kind, ADP_LOST);
}
END_TEST

/* Admits three and then nobody, until a ticket comes back. */
static unsigned in_flight;

static void three_at_once(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    if (in_flight >= 3) {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE, 0.0);
        return;
    }
    in_flight++;
    adp_admit(w);
    w->ticket = 1;
}

static void one_less(void *self, const struct adp_outcome *o)
{
    remember(self, o);
    in_flight--;
}

START_TEST(tickets_are_lost_in_time_though_every_request_is_refused)
{
    static const struct adp_policy limiter = { ADP_HEAD, .name = "limiter",
                                               .decide = three_at_once,
                                               .outcome = one_less };
    open_with(&limiter, NULL);
    in_flight = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(stage_decide(&stage, NULL).admitted, 1);
        stage.now_ns++;
    }
    ck_assert_uint_eq(stage_decide(&stage, NULL).admitted, 0);
    /* The first ticket's time is over, the second's ends with this nanosecond. */
    stage.now_ns += stage.generation->ticket_ns - 2;
    ck_assert_uint_eq(stage_decide(&stage, NULL).admitted, 0); /* and ages */
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(seen[0].kind, ADP_LOST);
    stage.now_ns += 1000;
    ck_assert_uint_eq(stage_decide(&stage, NULL).admitted, 1);
    ck_assert_uint_eq(n_seen, 3);
    ck_assert_uint_eq(in_flight, 1);
}
END_TEST

START_TEST(aging_passes_over_what_was_settled_and_stops_at_the_first_that_waits)
{
    open_with(&ticketed_policy, NULL);
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, id;
    struct adp_decision first = stage_decide(&stage, NULL);
    for (int i = 0; i < 7; i++)
        stage_decide(&stage, NULL);
    uint64_t handle;
    adp_ticket_settle(stage.lane[0], &stage.generations, first.id, &none, &o, &handle,
                      &id);
    stage.now_ns += stage.generation->ticket_ns + 1;
    stage_decide(&stage, NULL); /* four looks: the settled one and three that are over */
    ck_assert_uint_eq(n_seen, 1 + 3);
    stage_decide(&stage, NULL);
    ck_assert_uint_eq(n_seen, 1 + 7);
    stage_decide(&stage, NULL);
    ck_assert_uint_eq(n_seen, 1 + 7); /* the young ones wait */
}
END_TEST

START_TEST(a_ticket_of_a_request_that_does_not_run_is_not_run)
{
    /* The governing policy refuses with a ticket; the shadow admitted with one. */
    open_with(&refuses_with_ticket_policy, &ticketed_policy);
    ck_assert_uint_eq(stage_decide(&stage, "r1").status, 429);
    ck_assert_uint_eq(n_seen, 2);
    ck_assert_uint_eq(seen[0].kind, ADP_NOT_RUN);
    ck_assert_uint_eq(seen[0].ticket, 77);
    ck_assert_uint_eq(seen[1].kind, ADP_NOT_RUN);
    ck_assert_uint_eq(seen[1].ticket, 1000);
}
END_TEST

START_TEST(a_ticket_of_an_unenforced_refusal_waits_for_the_real_outcome)
{
    open_with(&refuses_with_ticket_policy, NULL);
    stage.generation->enforce = 0.0;
    struct adp_decision d = stage_decide(&stage, "r1");
    ck_assert_uint_eq(n_seen, 0);
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, id;
    uint64_t handle;
    ck_assert_int_eq(adp_ticket_settle(stage.lane[0], &stage.generations, d.id, &none, &o,
                                       &handle, &id),
                     0);
    ck_assert_uint_eq(seen[0].ticket, 77);
    ck_assert_uint_eq(seen[0].kind, ADP_DONE);
}
END_TEST

/* --- the record --- */

/* Rebuilds the view from a line alone and asks the policy again. */
START_TEST(a_view_rebuilt_from_a_line_gets_the_same_verdict)
{
    static const double params[] = { 0.9, 32 };
    open_with(&kv_wall_policy, NULL);
    const struct {
        double kv, queue;
    } rows[] = { { 0.1 + 0.2, 5 }, { 0.9, 1 }, { 0.8999999999999999, 0 },
                 { 0.2, 33 },      { -1, 40 }, { -1, -1 },
                 { 1.0 / 3, 32 } };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (int i = 0; i < ROWS; i++) {
        stage_publish(&stage, rows[i].kv, rows[i].queue);
        stage.now_ns += 1000;
        stage_decide(&stage, "r1");
    }
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < ROWS; i++) {
        json_t *line = stage_line(all, "verdict", i),
               *signals = json_object_get(line, "signals");
        double signal[2] = { 0 };
        struct adp_request request = { .size = sizeof request };
        struct adp_view v = { .size = sizeof v, .signal = signal, .param = params };
        v.request = &request;
        v.now_ns = (uint64_t)json_integer_value(json_object_get(line, "mono_ns"));
        v.draw = json_real_value(json_object_get(line, "draw"));
        for (uint32_t k = 0; k < 2; k++) {
            json_t *value = json_object_get(signals, reads[k].name);
            if (!json_is_number(value))
                continue;
            signal[k] = json_number_value(value);
            v.present |= 1ull << k;
        }
        ck_assert(rows[i].kv < 0 || signal[KV] == rows[i].kv); /* to the bit */
        struct adp_verdict w = { .size = sizeof w, .binding = ADP_NONE };
        kv_wall(NULL, &v, &w);
        const char *said = stage_text(line, "verdict");
        ck_assert_str_eq(said, w.action == ADP_REJECT  ? "reject"
                               : w.action == ADP_DEFER ? "defer"
                                                       : "admit");
        const char *reason = stage_text(line, "reason");
        if (w.reason)
            ck_assert_pstr_eq(reason, adp_reason_word(w.reason));
        else
            ck_assert_ptr_null(reason);
    }
    json_decref(all);
}
END_TEST

START_TEST(every_fact_given_is_in_the_line_and_no_other)
{
    open_with(&kv_wall_policy, NULL);
    struct adp_facts facts = { .size = sizeof facts,
                               .present = ADP_PROMPT | ADP_PRIORITY,
                               .request_id = "r\"1\n\xc3\xa9",
                               .tenant = "acme",
                               .prompt_tokens = 2168,
                               .max_output_tokens = 999,
                               .priority = -2 };
    struct adp_decision d;
    adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    json_t *want = json_pack("{s:s,s:i,s:i}", "tenant", "acme", "priority", -2,
                             "prompt_tokens", 2168);
    ck_assert(json_equal(json_object_get(line, "request"), want));
    ck_assert_str_eq(stage_text(line, "request_id"), "r\"1\n\xc3\xa9");
    json_decref(want);
    json_decref(all);
}
END_TEST

/* What the policy was told of the request. */
static struct {
    char tenant[ADP_ID_MAX + 1], session[ADP_ID_MAX + 1], slo_class[ADP_ID_MAX + 1];
    struct adp_request request;
} told;

static void listens(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    const struct adp_request *q = v->request;
    (void)self;
    adp_admit(w);
    told.request = *q;
    snprintf(told.tenant, sizeof told.tenant, "%s", q->tenant ? q->tenant : "(none)");
    snprintf(told.session, sizeof told.session, "%s", q->session ? q->session : "(none)");
    snprintf(told.slo_class, sizeof told.slo_class, "%s",
             q->slo_class ? q->slo_class : "(none)");
}
POLICY(listens)

#define TEN "0123456789"
#define A64 TEN TEN TEN TEN TEN TEN "abcd"

static const struct {
    const char *name, *given;
    bool hashed;
} texts[] = {
    { "empty", "", false },
    { "64 bytes", A64, false },
    { "65 bytes", A64 "e", true },
    { "100 bytes", TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN, true },
    { "UTF-8, quotes, a control byte", "caf\xc3\xa9 \"\\\x01", false },
    { "Latin-1", "caf\xe9", true },
    { "what looks like a hash", "xxh3:0", false },
};

/* The text in a line is the text that the policy got, and the keys are of that text. */
START_TEST(the_texts_of_a_view_are_rebuilt_from_a_line)
{
    const char *given = texts[_i].given;
    struct adp_facts facts = { .size = sizeof facts,
                               .request_id = "r1",
                               .tenant = given,
                               .session = given,
                               .slo_class = given };
    struct adp_decision d;
    open_with(&listens_policy, NULL);
    adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
    json_t *all = stage_lines(&stage);
    json_t *request = json_object_get(stage_line(all, "verdict", 0), "request");
    const char *tenant = stage_text(request, "tenant");
    ck_assert_str_eq(tenant, told.tenant);
    ck_assert_str_eq(stage_text(request, "session"), told.session);
    ck_assert_str_eq(stage_text(request, "slo_class"), told.slo_class);
    ck_assert_uint_eq(told.request.tenant_key, XXH3_64bits(tenant, strlen(tenant)));
    ck_assert_uint_eq(told.request.session_key, told.request.tenant_key);
    char hash[38];
    XXH128_hash_t h = XXH3_128bits(given, strlen(given));
    snprintf(hash, sizeof hash, "xxh3:%016llx%016llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64);
    ck_assert_msg(strcmp(tenant, texts[_i].hashed ? hash : given) == 0, "%s: %s",
                  texts[_i].name, tenant);
    json_decref(all);
}
END_TEST

START_TEST(an_id_longer_than_64_bytes_is_recorded_by_its_hash)
{
    char id[80];
    memset(id, 'i', sizeof id - 1);
    id[79] = '\0';
    open_with(&ticketed_policy, NULL);
    struct adp_decision d = stage_decide(&stage, id);
    json_t *all = stage_lines(&stage);
    const char *written = stage_text(stage_line(all, "verdict", 0), "request_id");
    ck_assert_uint_eq(strlen(written), 5 + 32);
    ck_assert_int_eq(strncmp(written, "xxh3:", 5), 0);
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name name, kept;
    uint64_t handle;
    adp_name_set(&name, id);
    ck_assert_int_eq(adp_ticket_settle(stage.lane[0], &stage.generations, 0, &name, &o,
                                       &handle, &kept),
                     0);
    ck_assert_uint_eq(handle, d.id);
    json_decref(all);
}
END_TEST

static uint64_t wall_ahead_ns;

static uint64_t wall_set(void *ctx)
{
    return stage_mono(ctx) + wall_ahead_ns;
}

/* Read with the first, not with the second, again with the third and after the clock has
 * gone back. */
START_TEST(a_wall_clock_that_is_set_shows_within_a_millisecond)
{
    static const struct {
        int64_t later_ns;
        uint64_t ahead_s;
        double at;
    } rows[] = { { 0, 100, 105.0 },           /* 5 s since the machine started */
                 { 999000, 200, 105.000999 }, /* as it was a millisecond ago */
                 { 1000, 200, 205.001 },
                 { -2000000, 300, 304.999 } };
    open_with(&kv_wall_policy, NULL);
    stage.clock.wall_ns = wall_set;
    for (int i = 0; i < 4; i++) {
        stage.now_ns += (uint64_t)rows[i].later_ns;
        wall_ahead_ns = rows[i].ahead_s * 1000000000u;
        stage_decide(&stage, "r");
    }
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq_tol(
            json_number_value(json_object_get(stage_line(all, "verdict", i), "at")),
            rows[i].at, 1e-7);
    json_decref(all);
}
END_TEST

START_TEST(metrics_given_with_the_request_decide_and_stay_in_its_line)
{
    open_with(&kv_wall_policy, NULL);
    stage_publish(&stage, 0.1, 0); /* in force, and not asked */
    struct adp_metrics *m = stage.lane[0]->now;
    struct adp_label engine = { { "engine", 6 }, { "0", 1 } };
    struct adp_str name = { "vllm:kv_cache_usage_perc", 24 };
    ck_assert_int_eq(adp_metrics_add(m, name, &engine, 1, 0.97, false, 0, NULL), 0);
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    adp_decide(stage.lane[0], &stage.generations, &facts, m, &d, NULL);
    ck_assert_uint_eq(d.status, 503);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    json_t *want = json_pack("{s:f}", "vllm:kv_cache_usage_perc", 0.97);
    ck_assert(json_equal(json_object_get(line, "metrics"), want));
    ck_assert_ptr_null(json_object_get(line, "snapshot"));
    ck_assert(json_real_value(json_object_get(json_object_get(line, "signals"),
                                              "kv_pressure")) == 0.97);
    ck_assert_str_eq(stage_text(json_object_get(line, "sources"), "kv_pressure"),
                     "vllm:kv_cache_usage_perc");
    ck_assert_str_eq(stage_text(line, "binding"), "kv_pressure");
    json_decref(want);
    json_decref(all);
}
END_TEST

/* A series more, and one of them decides: the line has what they were read as. */
START_TEST(metrics_that_no_ring_takes_are_left_out_of_their_line_which_says_so)
{
    open_with(&kv_wall_policy, &kv_wall_policy);
    struct adp_metrics *m = stage.lane[0]->now;
    struct adp_str name = { "vllm:kv_cache_usage_perc", 24 };
    ck_assert_int_eq(adp_metrics_add(m, name, NULL, 0, 0.97, false, 0, NULL), 0);
    unsigned n = 1;
    for (; adp_lane_encode(m, NULL, 0) <= adp_ring_most(stage.region, 1); n++) {
        char other[24];
        snprintf(other, sizeof other, "m%u", n);
        ck_assert_int_eq(adp_metrics_add(m, (struct adp_str) { other, strlen(other) },
                                         NULL, 0, n, false, 0, NULL),
                         0);
    }
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    adp_decide(stage.lane[0], &stage.generations, &facts, m, &d, NULL);
    ck_assert_uint_eq(d.status, 503);
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 2; i++) { /* the governing policy's, and the shadow's */
        json_t *line = stage_line(all, "verdict", i);
        ck_assert_int_eq(json_integer_value(json_object_get(line, "metrics_omitted")), n);
        ck_assert_ptr_null(json_object_get(line, "metrics"));
        ck_assert_ptr_null(json_object_get(line, "snapshot"));
        ck_assert(json_real_value(json_object_get(json_object_get(line, "signals"),
                                                  "kv_pressure")) == 0.97);
        ck_assert_str_eq(stage_text(json_object_get(line, "sources"), "kv_pressure"),
                         "vllm:kv_cache_usage_perc");
    }
    json_decref(all);
    ck_assert_uint_eq(adp_region_ring(stage.region, 1)->dropped, 0);
}
END_TEST

/* Series of one name, each with a label of 30,000 bytes, nearly all of them control characters,
 * which JSON spells in six; and one that decides. Returns how many. */
static unsigned add_long(struct adp_metrics *m, unsigned n)
{
    static char value[30000];
    memset(value, 1, sizeof value);
    struct adp_label label = { { "l", 1 }, { value, sizeof value } };
    struct adp_str kv = { "vllm:kv_cache_usage_perc", 24 };
    ck_assert_int_eq(adp_metrics_add(m, kv, NULL, 0, 0.97, false, 0, NULL), 0);
    for (unsigned i = 0; i < n; i++) {
        value[0] = (char)('a' + i);
        struct adp_str name = { "m", 1 };
        ck_assert_int_eq(adp_metrics_add(m, name, &label, 1, i, false, 0, NULL), 0);
    }
    return n + 1;
}

/* 25 series are 0.75 MB in the ring, and 4.5 MB in JSON. */
START_TEST(metrics_that_would_make_a_line_too_long_are_left_out_of_it)
{
    const struct adp_policy *policies[] = { &kv_wall_policy, NULL };
    stage_open(&stage, policies, 1 << 22, 16);
    struct adp_metrics *m = stage.lane[0]->now;
    unsigned n = add_long(m, 25);
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    for (int i = 0; i < 3; i++) /* as series, told, and as values of those told */
        adp_decide(stage.lane[0], &stage.generations, &facts, m, &d, NULL);
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 3; i++) {
        json_t *line = stage_line(all, "verdict", i);
        ck_assert_int_eq(json_integer_value(json_object_get(line, "metrics_omitted")), n);
        ck_assert_ptr_null(json_object_get(line, "metrics"));
        ck_assert(json_real_value(json_object_get(json_object_get(line, "signals"),
                                                  "kv_pressure")) == 0.97);
    }
    json_decref(all);
    ck_assert_uint_lt(stage.lines.len, 100000);
}
END_TEST

/* Returns how many series there are. */
static unsigned publish_long(unsigned n)
{
    n = add_long(adp_publisher_next(stage.publisher), n);
    ck_assert_int_eq(adp_publisher_publish(stage.publisher, stage.signals, 1,
                                           stage.now_ns, stage_wall(&stage), NULL),
                     0);
    return n;
}

/* The control ring has 1 MiB: 4 such series are 0.72 MB of JSON, 2 are 0.36. */
START_TEST(a_snapshot_that_the_ring_does_not_take_is_there_without_its_metrics)
{
    open_with(&kv_wall_policy, NULL);
    unsigned n[2] = { 4, 2 };
    for (int i = 0; i < 2; i++) {
        n[i] = publish_long(n[i]);
        ck_assert_uint_eq(stage_decide(&stage, "r1").status, 503);
        json_t *all = stage_lines(&stage);
        json_t *snapshot = stage_line(all, "metrics", 0);
        if (i == 0)
            snapshot = stage_line(all, "metrics_omitted", 0);
        json_t *decision = stage_line(all, "verdict", 0);
        ck_assert(json_equal(json_object_get(snapshot, "snapshot"),
                             json_object_get(decision, "snapshot")));
        ck_assert(json_real_value(json_object_get(json_object_get(snapshot, "signals"),
                                                  "kv_pressure")) == 0.97);
        ck_assert_int_eq(json_integer_value(json_object_get(snapshot, "metrics_omitted")),
                         i ? 0 : n[i]);
        ck_assert_uint_eq(json_object_size(json_object_get(snapshot, "metrics")),
                          i ? n[i] : 0);
        json_decref(all);
    }
    ck_assert_uint_eq(adp_region_ring(stage.region, 0)->dropped, 0);
}
END_TEST

/* Of a drain that writes a snapshot's metrics into each decision; the ring takes as many as
 * above. */
START_TEST(
    a_snapshot_that_the_ring_does_not_take_is_counted_in_decisions_that_would_have_it)
{
    open_with(&kv_wall_policy, NULL);
    adp_drain_destroy(stage.drain);
    ck_assert_int_eq(adp_drain_create(&stage.drain, stage.region, true, NULL), 0);
    unsigned n[2] = { 4, 2 };
    for (int i = 0; i < 2; i++) {
        n[i] = publish_long(n[i]);
        stage_decide(&stage, "r1");
        json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
        ck_assert_int_eq(json_integer_value(json_object_get(line, "metrics_omitted")),
                         i ? 0 : n[i]);
        ck_assert_uint_eq(json_object_size(json_object_get(line, "metrics")),
                          i ? n[i] : 0);
        json_decref(all);
    }
}
END_TEST

/* Of six: no name, a label twice, one without a name, one without a value, one that only a
 * record cannot hold; and a good one, from which, as from the long one, the signal is read:
 * the larger. */
START_TEST(metrics_that_are_left_out_of_a_line_are_counted_in_it)
{
    static char text[(1 << 16) + 1];
    memset(text, 'x', 1 << 16);
    const char *const twice[] = { "a", "1", "a", "2", NULL };
    const char *const large[] = { "a", text, NULL };
    const char *kv = "vllm:kv_cache_usage_perc";
    const char *const nameless[] = { "", "1", NULL };
    const char *const valueless[] = { "a", NULL };
    const adp_metric metrics[] = { { "", NULL, 1 },        { kv, twice, 0.99 },
                                   { kv, nameless, 0.99 }, { kv, valueless, 0.99 },
                                   { kv, large, 0.97 },    { kv, NULL, 0.5 } };
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    open_with(&kv_wall_policy, NULL);
    for (int i = 0; i < 3; i++) { /* the same again: no less is said */
        adp_sheet_fill(adp_lane_sheet(stage.lane[0]), metrics, 6);
        adp_decide(stage.lane[0], &stage.generations, &facts, stage.lane[0]->now, &d,
                   NULL);
        ck_assert_uint_eq(d.status, 503);
    }
    adp_sheet_fill(adp_lane_sheet(stage.lane[0]), &metrics[5], 1);
    adp_decide(stage.lane[0], &stage.generations, &facts, stage.lane[0]->now, &d, NULL);
    json_t *all = stage_lines(&stage);
    for (size_t i = 0; i < 4; i++) {
        json_t *line = stage_line(all, "verdict", i);
        json_t *omitted = json_object_get(line, "metrics_omitted");
        json_t *signals = json_object_get(line, "signals");
        ck_assert_uint_eq(json_object_size(json_object_get(line, "metrics")), 1);
        ck_assert(json_real_value(json_object_get(signals, "kv_pressure")) ==
                  (i < 3 ? 0.97 : 0.5));
        ck_assert_int_eq(omitted ? json_integer_value(omitted) : 0, i < 3 ? 5 : 0);
    }
    json_decref(all);
}
END_TEST

/* 25 that a line has no room for, as above, and one that is no series. */
START_TEST(metrics_that_are_no_series_are_counted_with_those_that_find_no_room)
{
    enum { LONG = 25 };
    static char value[LONG][30001];
    const char *labels[LONG][3];
    adp_metric metrics[LONG + 1] = { { "", NULL, 1 } };
    const struct adp_policy *policies[] = { &kv_wall_policy, NULL };
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    for (int i = 0; i < LONG; i++) {
        memset(value[i], 1, 30000);
        value[i][0] = (char)('a' + i);
        labels[i][0] = "l";
        labels[i][1] = value[i];
        labels[i][2] = NULL;
        metrics[1 + i] = (adp_metric) { "m", labels[i], i };
    }
    stage_open(&stage, policies, 1 << 22, 16);
    adp_sheet_fill(adp_lane_sheet(stage.lane[0]), metrics, LONG + 1);
    adp_decide(stage.lane[0], &stage.generations, &facts, stage.lane[0]->now, &d, NULL);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "metrics_omitted")),
                     LONG + 1);
    ck_assert_ptr_null(json_object_get(line, "metrics"));
    json_decref(all);
}
END_TEST

/* More than can be read: all that came are counted. */
START_TEST(metrics_beyond_those_that_are_read_are_counted)
{
    enum { MANY = ADP_METRICS_MAX_SERIES + 10 };
    adp_metric *metrics = calloc(MANY, sizeof *metrics);
    char(*name)[12] = calloc(MANY, sizeof *name);
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r1" };
    struct adp_decision d;
    ck_assert(metrics && name);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "m%u", i);
        metrics[i].name = name[i];
    }
    open_with(&kv_wall_policy, NULL);
    adp_sheet_fill(adp_lane_sheet(stage.lane[0]), metrics, MANY);
    adp_decide(stage.lane[0], &stage.generations, &facts, stage.lane[0]->now, &d, NULL);
    json_t *all = stage_lines(&stage), *line = stage_line(all, "verdict", 0);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "metrics_omitted")), MANY);
    json_decref(all);
    free(metrics);
    free(name);
}
END_TEST

START_TEST(a_renamed_metric_is_read_published_or_given_with_the_request)
{
    open_with(&kv_wall_policy, NULL);
    ck_assert_int_eq(
        adp_signals_rename(stage.signals, "vllm:kv_cache_usage_perc", "acme:kv", NULL),
        0);
    struct adp_str name = { "acme:kv", 7 };
    struct adp_metrics *m = adp_publisher_next(stage.publisher);
    ck_assert_int_eq(adp_metrics_add(m, name, NULL, 0, 0.97, false, 0, NULL), 0);
    ck_assert_int_eq(adp_publisher_publish(stage.publisher, stage.signals, 1,
                                           stage.now_ns, stage_wall(&stage), NULL),
                     0);
    ck_assert_uint_eq(stage_decide(&stage, "r1").status, 503);
    struct adp_decision d;
    m = stage.lane[0]->now;
    ck_assert_int_eq(adp_metrics_add(m, name, NULL, 0, 0.98, false, 0, NULL), 0);
    adp_decide(stage.lane[0], &stage.generations, NULL, m, &d, NULL);
    ck_assert_uint_eq(d.status, 503);
}
END_TEST

START_TEST(counters_given_with_requests_grow_against_the_ones_before)
{
    static const char *const names[] = { "vllm:prefix_cache_hits_total",
                                         "vllm:prefix_cache_queries_total" };
    static const double values[][2] = { { 100, 200 }, { 130, 300 } };
    open_with(&kv_wall_policy, NULL);
    for (int i = 0; i < 2; i++) {
        struct adp_metrics *m = stage.lane[0]->now;
        struct adp_decision d;
        adp_metrics_clear(m);
        for (int k = 0; k < 2; k++)
            adp_metrics_add(m, (struct adp_str) { names[k], strlen(names[k]) }, NULL, 0,
                            values[i][k], false, 0, NULL);
        adp_decide(stage.lane[0], &stage.generations, NULL, m, &d, NULL);
        stage.now_ns += 2000000000u;
    }
    json_t *all = stage_lines(&stage), *first = stage_line(all, "verdict", 0);
    json_t *then = stage_line(all, "verdict", 1);
    ck_assert_str_eq(stage_text(json_object_get(first, "whys"), "prefix_hit_rate"),
                     "first_sample");
    /* (130 - 100) / (300 - 200) */
    ck_assert(json_real_value(json_object_get(json_object_get(then, "signals"),
                                              "prefix_hit_rate")) == 0.3);
    json_decref(all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decide");
    TCase *t = tcase_create("decide");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_loop_test(t, verdicts_follow_signals_and_absence, 0,
                        sizeof verdicts / sizeof verdicts[0]);
    tcase_add_test(t, before_the_first_publish_every_signal_is_absent);
    tcase_add_test(t, readings_age_out_when_publishing_has_died);
    tcase_add_loop_test(t, a_fault_admits_unless_told_otherwise, 0,
                        sizeof faults / sizeof faults[0]);
    tcase_add_loop_test(t, on_error_reject_answers_503_policy_error, 0,
                        sizeof faults / sizeof faults[0]);
    tcase_add_test(t, numbers_outside_their_range_count_as_not_set);
    tcase_add_test(t, an_unenforced_refusal_is_recorded_and_answered_admit_200);
    tcase_add_test(t, a_retried_id_gets_the_same_arm_and_draw);
    tcase_add_loop_test(t, without_an_id_governed_only_when_all_are, 0, 3);
    tcase_add_test(t, shadows_are_asked_and_recorded_and_never_obeyed);
    tcase_add_test(t, a_ticket_comes_back_once_with_what_was_measured);
    tcase_add_test(t, an_outcome_by_request_id_finds_the_ticket_on_any_lane);
    tcase_add_test(t, a_full_table_makes_the_oldest_lost_exactly_once);
    tcase_add_test(t, a_ticket_without_outcome_in_time_is_lost);
    tcase_add_test(t, tickets_are_lost_in_time_though_every_request_is_refused);
    tcase_add_test(t,
                   aging_passes_over_what_was_settled_and_stops_at_the_first_that_waits);
    tcase_add_test(t, a_ticket_of_a_request_that_does_not_run_is_not_run);
    tcase_add_test(t, a_ticket_of_an_unenforced_refusal_waits_for_the_real_outcome);
    tcase_add_test(t, a_view_rebuilt_from_a_line_gets_the_same_verdict);
    tcase_add_loop_test(t, the_texts_of_a_view_are_rebuilt_from_a_line, 0,
                        sizeof texts / sizeof texts[0]);
    tcase_add_test(t, every_fact_given_is_in_the_line_and_no_other);
    tcase_add_test(t, an_id_longer_than_64_bytes_is_recorded_by_its_hash);
    tcase_add_test(t, a_wall_clock_that_is_set_shows_within_a_millisecond);
    tcase_add_test(t, metrics_given_with_the_request_decide_and_stay_in_its_line);
    tcase_add_test(t,
                   metrics_that_no_ring_takes_are_left_out_of_their_line_which_says_so);
    tcase_add_test(t, metrics_that_would_make_a_line_too_long_are_left_out_of_it);
    tcase_add_test(
        t,
        a_snapshot_that_the_ring_does_not_take_is_counted_in_decisions_that_would_have_it);
    tcase_add_test(t,
                   a_snapshot_that_the_ring_does_not_take_is_there_without_its_metrics);
    tcase_add_test(t, metrics_that_are_left_out_of_a_line_are_counted_in_it);
    tcase_add_test(t,
                   metrics_that_are_no_series_are_counted_with_those_that_find_no_room);
    tcase_add_test(t, metrics_beyond_those_that_are_read_are_counted);
    tcase_add_test(t, a_renamed_metric_is_read_published_or_given_with_the_request);
    tcase_add_test(t, counters_given_with_requests_grow_against_the_ones_before);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
