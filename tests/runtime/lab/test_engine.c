/* SPDX-License-Identifier: MIT */
/* Traffics of a few requests, each outcome worked out by hand from the rules in the head
 * of runtime/lab/engine.h. */
#include "runtime/lab/engine.h"

#include <admitperf/policy.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400 };

/* A policy of the test's and everything it saw. */
struct watcher {
    uint32_t most_waiting; /* refuses above */
    uint32_t stop_at;      /* request at which it stops; MOST: never */
    int fail_decide, fail_outcome;
    unsigned decided, ended;
    uint64_t decided_ms[MOST];
    struct adp_engine_state seen[MOST];
    bool admitted[MOST];
    struct adp_engine_outcome outcome[MOST]; /* by request; end 0: none */
};

static int decide(void *ctx, uint32_t request, uint64_t now_ms,
                  const struct adp_engine_state *state, struct adp_error *err)
{
    struct watcher *w = ctx;
    if (request == w->stop_at)
        return ADP_ENGINE_STOP;
    if (w->fail_decide)
        return adp_error_set(err, w->fail_decide, "decide failed");
    w->decided++;
    w->decided_ms[request] = now_ms;
    w->seen[request] = *state;
    w->admitted[request] = state->waiting <= w->most_waiting;
    return w->admitted[request] ? ADP_ENGINE_ADMIT : ADP_ENGINE_REFUSE;
}

static int outcome(void *ctx, const struct adp_engine_outcome *o, struct adp_error *err)
{
    struct watcher *w = ctx;
    if (w->fail_outcome)
        return adp_error_set(err, w->fail_outcome, "outcome failed");
    ck_assert_uint_eq(w->outcome[o->request].end, 0);
    ck_assert(w->admitted[o->request]);
    w->outcome[o->request] = *o;
    w->ended++;
    return 0;
}

static struct watcher *watch(const struct adp_traffic *traffic, uint32_t most_waiting)
{
    static struct watcher w;
    w = (struct watcher) { .most_waiting = most_waiting, .stop_at = MOST };
    struct adp_engine_calls calls = { &w, decide, outcome };
    ck_assert_int_eq(adp_engine_run(traffic, &calls, NULL), 0);
    ck_assert_uint_eq(w.decided, traffic->n);
    return &w;
}

/* `n` requests more that arrive in `tick`. */
static void arrive(struct adp_traffic *traffic, uint32_t n, uint32_t tick,
                   uint32_t service_ticks)
{
    static struct adp_arrival arrivals[MOST];
    traffic->arrivals = arrivals;
    for (uint32_t i = 0; i < n; i++, traffic->n++) {
        ck_assert_uint_lt(traffic->n, MOST);
        struct adp_arrival *a = &arrivals[traffic->n];
        *a = (struct adp_arrival) { .tick = tick, .service_ticks = service_ticks };
        snprintf(a->id, sizeof a->id, "r%u", traffic->n);
    }
}

START_TEST(a_request_that_finds_a_slot_starts_in_its_tick)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 1, 3, 7);
    struct watcher *w = watch(&t, 0);
    ck_assert_uint_eq(w->decided_ms[0], 150);
    ck_assert_uint_eq(w->outcome[0].end, ADP_DONE);
    ck_assert(w->outcome[0].started && w->outcome[0].ok);
    ck_assert_uint_eq(w->outcome[0].ttft_ms, 180);
    ck_assert_uint_eq(w->outcome[0].now_ms, 500); /* tick 3 + 7 */
}
END_TEST

START_TEST(the_forty_ninth_waits_until_the_first_leaves)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 50, 1, 7);
    struct watcher *w = watch(&t, MOST);
    ck_assert_uint_eq(w->seen[0].running, 0);
    ck_assert_uint_eq(w->seen[47].running, 47);
    ck_assert_uint_eq(w->seen[48].running, 48);
    ck_assert_uint_eq(w->seen[48].waiting, 0);
    ck_assert_uint_eq(w->seen[49].waiting, 1);
    ck_assert_uint_eq(w->outcome[47].ttft_ms, 180);
    ck_assert_uint_eq(w->outcome[48].ttft_ms, 530); /* starts in tick 8: 7 waited */
    ck_assert_uint_eq(w->outcome[49].ttft_ms, 530);
    ck_assert_uint_eq(w->outcome[49].now_ms, 750); /* ends in tick 15 */
}
END_TEST

START_TEST(in_a_tick_the_finished_leave_and_the_queue_moves_before_arrivals)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 49, 1, 7);
    arrive(&t, 1, 8, 7);
    struct watcher *w = watch(&t, MOST);
    ck_assert_uint_eq(w->seen[49].running, 1); /* the 49th, moved up */
    ck_assert_uint_eq(w->seen[49].waiting, 0);
    ck_assert_uint_eq(w->outcome[49].ttft_ms, 180);
}
END_TEST

START_TEST(the_queue_is_first_in_first_out)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 1, 1, 3);   /* leaves in tick 4 */
    arrive(&t, 1, 1, 5);   /* leaves in tick 6 */
    arrive(&t, 46, 1, 10); /* leave in tick 11 */
    arrive(&t, 1, 2, 9);
    arrive(&t, 2, 2, 1);
    struct watcher *w = watch(&t, MOST);
    ck_assert_uint_eq(w->outcome[48].ttft_ms, 280); /* starts in 4, waited 2 */
    ck_assert_uint_eq(w->outcome[49].ttft_ms, 380); /* starts in 6, waited 4 */
    ck_assert_uint_eq(w->outcome[50].ttft_ms, 430); /* its slot is free again in 7 */
}
END_TEST

/* resident = running * 8704 of 384000 tokens. */
static const struct {
    uint32_t running;
    double kv;
} fill[] = { { 0, 0.0 },
             { 1, 8704.0 / 384000.0 },
             { 39, 339456.0 / 384000.0 },
             { 40, 348160.0 / 384000.0 },
             { 44, 382976.0 / 384000.0 },
             { 45, 1.0 },
             { 48, 1.0 } };

START_TEST(kv_is_what_running_requests_fill_and_never_above_one)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 60, 1, 7);
    struct watcher *w = watch(&t, MOST);
    const struct adp_engine_state *s = &w->seen[fill[_i].running];
    ck_assert_uint_eq(s->running, fill[_i].running);
    ck_assert_double_eq(s->kv, fill[_i].kv);
    ck_assert_double_eq(w->seen[59].kv, 1.0);
}
END_TEST

static const struct {
    uint32_t waited;
    uint64_t ttft_ms;
    bool ok;
} slo[] = { { 26, 1480, true }, { 27, 1530, false } };

START_TEST(a_request_is_ok_up_to_the_slo)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 48, 1, slo[_i].waited);
    arrive(&t, 1, 1, 7);
    struct watcher *w = watch(&t, MOST);
    ck_assert_uint_eq(w->outcome[48].ttft_ms, slo[_i].ttft_ms);
    ck_assert(w->outcome[48].ok == slo[_i].ok);
}
END_TEST

START_TEST(a_refused_request_takes_no_place_and_has_no_outcome)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 52, 1, 7);
    struct watcher *w = watch(&t, 1); /* waiting 0, 1: in; 2: refused */
    ck_assert(w->admitted[49] && !w->admitted[50] && !w->admitted[51]);
    ck_assert_uint_eq(w->seen[51].waiting, 2);
    ck_assert_uint_eq(w->outcome[50].end, 0);
    ck_assert_uint_eq(w->ended, 50);
}
END_TEST

START_TEST(a_quiet_time_of_any_length_is_skipped)
{
    struct adp_traffic t = { 0 };
    arrive(&t, 1, 1, 7);
    arrive(&t, 1, ADP_TRAFFIC_MAX_TICK, ADP_TRAFFIC_MAX_SERVICE);
    struct watcher *w = watch(&t, MOST);
    ck_assert_uint_eq(w->seen[1].running, 0);
    ck_assert_uint_eq(w->outcome[1].now_ms, 50ull * (1000000000ull + 1000000ull));
}
END_TEST

START_TEST(no_traffic_is_no_run)
{
    struct adp_traffic t = { 0 };
    ck_assert_uint_eq(watch(&t, MOST)->decided, 0);
}
END_TEST

START_TEST(a_stopped_run_cancels_what_is_in_the_engine_and_decides_no_more)
{
    struct adp_traffic t = { 0 };
    static struct watcher w;
    w = (struct watcher) { .most_waiting = MOST, .stop_at = 50 };
    struct adp_engine_calls calls = { &w, decide, outcome };
    arrive(&t, 49, 1, 7);
    arrive(&t, 1, 2, 7);
    arrive(&t, 3, 3, 7);
    ck_assert_int_eq(adp_engine_run(&t, &calls, NULL), 0);
    ck_assert_uint_eq(w.decided, 50);
    ck_assert_uint_eq(w.ended, 50);
    ck_assert_uint_eq(w.outcome[47].end, ADP_CANCELLED);
    ck_assert(w.outcome[47].started);
    ck_assert_uint_eq(w.outcome[47].ttft_ms, 180);
    ck_assert_uint_eq(w.outcome[47].now_ms, 150);
    ck_assert_uint_eq(w.outcome[48].end, ADP_CANCELLED);
    ck_assert(!w.outcome[48].started && !w.outcome[48].ok);
    ck_assert(!w.outcome[49].started);
}
END_TEST

START_TEST(an_admitted_request_without_a_service_time_is_an_error_with_its_place)
{
    static const char text[] = "request,arrival_tick,service_ticks\nr0,1,7\nr1,12,\n";
    struct adp_traffic t;
    struct adp_error e = { 0 };
    static struct watcher w;
    w = (struct watcher) { .most_waiting = MOST, .stop_at = MOST };
    struct adp_engine_calls calls = { &w, decide, outcome };
    ck_assert_int_eq(adp_traffic_read_text(&t, text, sizeof text - 1, "a-r1.csv", &e), 0);
    ck_assert_int_eq(adp_engine_run(&t, &calls, &e), ADP_EINVAL);
    adp_traffic_finish(&t);
    char line[256];
    adp_error_format(&e, line, sizeof line);
    ck_assert_str_eq(line, "a-r1.csv:3:7: r1 was admitted, but no service time was drawn "
                           "for it: this traffic was recorded under other decisions");
}
END_TEST

START_TEST(a_failing_callback_ends_the_run_with_its_error)
{
    struct adp_traffic t = { 0 };
    struct adp_error e = { 0 };
    static struct watcher w;
    w = (struct watcher) { .stop_at = MOST };
    struct adp_engine_calls calls = { &w, decide, outcome };
    arrive(&t, 2, 1, 7);
    if (_i)
        w.fail_decide = ADP_EIO;
    else
        w.fail_outcome = ADP_EIO;
    ck_assert_int_eq(adp_engine_run(&t, &calls, &e), ADP_EIO);
    ck_assert_str_eq(e.text, _i ? "decide failed" : "outcome failed");
}
END_TEST

/* The ticks a served request took, from what was seen of it. */
static uint64_t served_ticks(const struct watcher *w, uint32_t request)
{
    const struct adp_engine_outcome *o = &w->outcome[request];
    uint64_t started_ms = w->decided_ms[request] + o->ttft_ms - 180;
    return (o->now_ms - started_ms) / 50;
}

START_TEST(every_policy_of_a_repeat_faces_the_same_traffic)
{
    struct adp_traffic t;
    ck_assert_int_eq(adp_traffic_draw(&t, 1, (uint32_t)_i, NULL), 0);
    struct watcher all = *watch(&t, MOST);
    struct watcher some = *watch(&t, 30);
    ck_assert_uint_eq(all.ended, 400);
    ck_assert_uint_lt(some.ended, 400);
    for (uint32_t i = 0; i < t.n; i++) {
        ck_assert_uint_eq(all.decided_ms[i], some.decided_ms[i]);
        ck_assert_uint_eq(served_ticks(&all, i), t.arrivals[i].service_ticks);
        if (some.admitted[i])
            ck_assert_uint_eq(served_ticks(&some, i), t.arrivals[i].service_ticks);
    }
    adp_traffic_finish(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");
    tcase_add_test(t, a_request_that_finds_a_slot_starts_in_its_tick);
    tcase_add_test(t, the_forty_ninth_waits_until_the_first_leaves);
    tcase_add_test(t, in_a_tick_the_finished_leave_and_the_queue_moves_before_arrivals);
    tcase_add_test(t, the_queue_is_first_in_first_out);
    tcase_add_loop_test(t, kv_is_what_running_requests_fill_and_never_above_one, 0,
                        sizeof fill / sizeof fill[0]);
    tcase_add_loop_test(t, a_request_is_ok_up_to_the_slo, 0, sizeof slo / sizeof slo[0]);
    tcase_add_test(t, a_refused_request_takes_no_place_and_has_no_outcome);
    tcase_add_test(t, a_quiet_time_of_any_length_is_skipped);
    tcase_add_test(t, no_traffic_is_no_run);
    tcase_add_test(t, a_stopped_run_cancels_what_is_in_the_engine_and_decides_no_more);
    tcase_add_test(t,
                   an_admitted_request_without_a_service_time_is_an_error_with_its_place);
    tcase_add_loop_test(t, a_failing_callback_ends_the_run_with_its_error, 0, 2);
    tcase_add_loop_test(t, every_policy_of_a_repeat_faces_the_same_traffic, 1, 6);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
