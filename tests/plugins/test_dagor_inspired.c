/* SPDX-License-Identifier: MIT */
/* dagor_inspired: levels and the walk of the admitted level, worked out by hand from
 * Algorithm 1. Ten requests a second finish, so that each waiting request stands for 100
 * ms; overloaded is above 500 ms. */
#include "tests/plugins/stage.h"

enum { WAITING };
enum { USERS = 128, LEVELS = 2048 };
#define HOUR (3600 * SECOND)

static struct stage stage;
static uint64_t finish_ms;

static void setup(void)
{
    stage_open(&stage, "dagor_inspired");
    stage_set(&stage, "wait_ms", 500);
    finish_ms = 50;
}

static void teardown(void)
{
    stage_close(&stage);
}

static const struct stage_param defaults[] = {
    { "wait_ms", "ms", NAN },
    { "window_ms", "ms", 1000 },
    { "window_requests", "requests", 2000 },
    { "alpha", "ratio", 0.05 },
    { "beta", "ratio", 0.01 },
    { "probe_ms", "ms", 5000 },
};

START_TEST(it_declares_the_defaults_of_its_source)
{
    stage_declares(&stage, defaults, sizeof defaults / sizeof defaults[0], "scalar",
                   "wait_estimate");
    ck_assert_str_eq(adp_loaded_card(stage.loaded).metadata_assumed, "priority class");
}
END_TEST

static void run_to(uint64_t ms)
{
    for (; finish_ms < ms; finish_ms += 100) {
        stage_at(&stage, finish_ms);
        stage_over(&stage, ADP_DONE, 1);
    }
    stage_at(&stage, ms);
}

/* A tenant whose key this is. */
static struct adp_verdict ask(int64_t priority, uint64_t key)
{
    stage.request.present = ADP_PRIORITY;
    stage.request.priority = priority;
    stage.request.tenant = "t";
    stage.request.tenant_key = key;
    return stage_now(&stage);
}

/* --- levels --- */

/* The level of the request in the hand, while all levels are open: the margin is the
 * level less the admitted level, 2047, less one. */
static unsigned level(void)
{
    struct adp_verdict w = stage_now(&stage);
    ck_assert_uint_eq(w.action, ADP_ADMIT);
    ck_assert_uint_eq(w.set, ADP_SET_MARGIN);
    ck_assert_uint_eq(w.ticket, 1);
    ck_assert_double_lt(w.margin, 0.0);
    ck_assert_double_ge(w.margin, -LEVELS);
    return (unsigned)(w.margin + LEVELS);
}

static const struct {
    bool present;
    int64_t priority;
    unsigned business;
} priorities[] = {
    { true, INT64_MAX, 0 }, { true, 100, 0 },        { true, 9, 0 },   { true, 8, 0 },
    { true, 7, 1 },         { true, 1, 7 },          { true, 0, 8 },   { false, 5, 8 },
    { true, -1, 9 },        { true, -6, 14 },        { true, -7, 15 }, { true, -8, 15 },
    { true, -100, 15 },     { true, INT64_MIN, 15 },
};

START_TEST(business_is_from_the_priority)
{
    stage_restart(&stage, NULL, 0);
    stage.request.present = priorities[_i].present ? ADP_PRIORITY : 0;
    stage.request.priority = priorities[_i].priority;
    ck_assert_uint_eq(level() / USERS, priorities[_i].business);
}
END_TEST

START_TEST(a_user_keeps_a_level_for_an_hour)
{
    stage_restart(&stage, NULL, 0);
    stage.request.tenant = "t";
    unsigned kept = 0;
    for (uint64_t key = 0; key < 50; key++) {
        stage.request.tenant_key = key;
        stage.request.session_key = 77 + key;
        stage.now_ns = 7 * HOUR;
        unsigned first = level();
        stage.draw = (double)key / 50; /* another request of his */
        stage.now_ns = 8 * HOUR - 1;
        ck_assert_uint_eq(level(), first);
        stage.now_ns = 8 * HOUR;
        kept += level() == first;
    }
    ck_assert_uint_le(kept, 5); /* one in 128 by chance */
}
END_TEST

START_TEST(users_are_spread_over_all_levels)
{
    static unsigned at[USERS];
    stage_restart(&stage, NULL, 0);
    stage.request.tenant = "t";
    for (uint64_t key = 0; key < 12800; key++) {
        stage.request.tenant_key = key;
        at[level() % USERS]++;
    }
    /* 100 each, with a standard deviation of 10 */
    for (int i = 0; i < USERS; i++) {
        ck_assert_uint_gt(at[i], 50);
        ck_assert_uint_lt(at[i], 150);
    }
}
END_TEST

START_TEST(without_a_tenant_the_session_counts_and_without_it_the_draw)
{
    stage_restart(&stage, NULL, 0);
    stage.request.session = "s";
    stage.request.session_key = 5;
    stage.request.tenant_key = 1; /* garbage: there is no tenant */
    stage.draw = 0.1;
    unsigned first = level();
    stage.request.tenant_key = 2;
    stage.draw = 0.2;
    ck_assert_uint_eq(level(), first);
    stage.request.tenant = "t";
    stage.request.tenant_key = 5; /* the same key is the same user, whoever names it */
    ck_assert_uint_eq(level(), first);

    stage.request.tenant = stage.request.session = NULL;
    unsigned drawn = level();
    stage.request.session_key = 6;
    ck_assert_uint_eq(level(), drawn); /* a retry draws the same */
    unsigned same = 0;
    for (int i = 0; i < 50; i++) {
        stage.draw = i / 50.0;
        same += level() == drawn;
    }
    ck_assert_uint_le(same, 5);
}
END_TEST

/* --- the walk --- */

enum { MEASURED_MS = 10000, WINDOWS = 10 };

/* Up to where the rate of finishing is measured; the window before it is over. */
static void begin(void)
{
    stage_restart(&stage, NULL, 0);
    stage.signal[WAITING] = 0;
    ask(0, 7);
    run_to(MEASURED_MS - 1000);
    ask(0, 7);
}

/* One tenant; per window so many requests of priority 0, -1 and -2 (levels x, x + 128,
 * x + 256), with so many waiting in the engines. Which of the three are admitted in it.
 */
static const struct {
    const char *name;
    double alpha, beta;
    struct {
        unsigned n[3];
        double waiting; /* NAN: no reading */
        bool admitted[3];
    } window[WINDOWS];
} rows[] = {
    /* 100 admitted, 95 to stay: the 20 go; 80, 76 to stay: the 30 go; and back: 50 + 1,
     * the 30 come; 80 + 1, the 20 come */
    { "down by alpha of the admitted, up by beta of all",
      0.05,
      0.01,
      { { { 50, 30, 20 }, 6, { 1, 1, 1 } },
        { { 50, 30, 20 }, 6, { 1, 1, 0 } },
        { { 50, 30, 20 }, 4, { 1, 0, 0 } },
        { { 50, 30, 20 }, 4, { 1, 1, 0 } },
        { { 50, 30, 20 }, 4, { 1, 1, 1 } } } },
    { "at the bound it is not overloaded",
      0.05,
      0.01,
      { { { 50, 30, 20 }, 5, { 1, 1, 1 } }, { { 50, 30, 20 }, 5, { 1, 1, 1 } } } },
    /* 100, half to stay: the 20 go (80), the 30 go (50) */
    { "a larger alpha takes more levels at once",
      0.5,
      0.01,
      { { { 50, 30, 20 }, 6, { 1, 1, 1 } }, { { 50, 30, 20 }, 4, { 1, 0, 0 } } } },
    /* 52 to stay: the 20 alone are not enough to lose, the 28 with them just are */
    { "as many as it needs and no more",
      0.48,
      0.01,
      { { { 52, 28, 20 }, 6, { 1, 1, 1 } }, { { 52, 28, 20 }, 4, { 1, 0, 0 } } } },
    { "and no fewer: 100 - 20 = 80 is enough at 0.2",
      0.2,
      0.01,
      { { { 52, 28, 20 }, 6, { 1, 1, 1 } }, { { 52, 28, 20 }, 4, { 1, 1, 0 } } } },
    /* 50 + 0.31 * 100 = 81: the 30 are not enough */
    { "a larger beta brings more levels back",
      0.5,
      0.31,
      { { { 50, 30, 20 }, 6, { 1, 1, 1 } },
        { { 50, 30, 20 }, 4, { 1, 0, 0 } },
        { { 50, 30, 20 }, 4, { 1, 1, 1 } } } },
    { "the least important go alone when they are few: beta is of all that ask",
      0.05,
      0.01,
      { { { 98, 1, 1 }, 6, { 1, 1, 1 } },
        { { 98, 1, 1 }, 4, { 0, 0, 0 } }, /* 95 of 100: 2 are too few, the 98 go */
        { { 98, 1, 1 }, 4, { 1, 0, 0 } }, /* 0 + 1 */
        { { 98, 1, 1 }, 4, { 1, 1, 0 } }, /* 98 + 1 */
        { { 98, 1, 1 }, 4, { 1, 1, 1 } } } },
    { "without a reading the level rises",
      0.05,
      0.01,
      { { { 50, 30, 20 }, 6, { 1, 1, 1 } },
        { { 50, 30, 20 }, 6, { 1, 1, 0 } },
        { { 50, 30, 20 }, NAN, { 1, 0, 0 } },
        { { 50, 30, 20 }, NAN, { 1, 1, 0 } },
        { { 50, 30, 20 }, NAN, { 1, 1, 1 } } } },
    { "a window that nobody asked in changes nothing",
      0.05,
      0.01,
      { { { 50, 30, 20 }, 6, { 1, 1, 1 } },
        { { 0, 0, 0 }, 6, { 0 } },
        { { 0, 0, 0 }, 6, { 0 } },
        { { 50, 30, 20 }, 6, { 1, 1, 0 } } } },
    { "all of one level: all or nothing, and back at once",
      0.05,
      0.01,
      { { { 100, 0, 0 }, 6, { 1, 1, 1 } },
        { { 100, 0, 0 }, 4, { 0, 0, 0 } },
        { { 100, 0, 0 }, 4, { 1, 0, 0 } } } },
};

START_TEST(the_admitted_level_walks_as_worked_out_by_hand)
{
    stage_set(&stage, "alpha", rows[_i].alpha);
    stage_set(&stage, "beta", rows[_i].beta);
    stage_set(&stage, "probe_ms", 0);
    begin();
    for (unsigned i = 0; i < WINDOWS; i++) {
        run_to(MEASURED_MS + i * 1000);
        stage.signal[WAITING] = rows[_i].window[i].waiting;
        for (int k = 0; k < 3; k++)
            for (unsigned n = 0; n < rows[_i].window[i].n[k]; n++) {
                struct adp_verdict w = ask(-k, 7);
                bool admitted = w.action == ADP_ADMIT;
                ck_assert_msg(admitted == rows[_i].window[i].admitted[k],
                              "%s: window %u, priority %d", rows[_i].name, i, -k);
                if (admitted)
                    continue;
                ck_assert_uint_eq(w.action, ADP_REJECT);
                ck_assert_uint_eq(w.reason, ADP_R_CAPACITY_RESERVED);
                ck_assert_uint_eq(w.binding,
                                  isnan(stage.signal[WAITING]) ? ADP_NONE : WAITING);
                ck_assert_uint_eq(w.ticket, 1);
            }
    }
}
END_TEST

START_TEST(users_go_one_in_twenty_at_a_time)
{
    begin();
    unsigned admitted = 1000;
    for (unsigned i = 0; i < 10; i++) {
        run_to(MEASURED_MS + i * 1000);
        stage.signal[WAITING] = 6;
        unsigned now = 0;
        for (uint64_t key = 0; key < 1000; key++)
            now += ask(0, key).action == ADP_ADMIT;
        if (i) { /* 5 %, and a level more at most: some 8 of 1000 in each, rarely 20 */
            ck_assert_double_le(now, 0.95 * admitted);
            ck_assert_double_ge(now, 0.95 * admitted - 20);
        }
        admitted = now;
    }
}
END_TEST

START_TEST(a_window_ends_early_after_enough_requests)
{
    begin();
    run_to(MEASURED_MS);
    stage.signal[WAITING] = 6;
    for (int i = 0; i < 2000; i++)
        ck_assert_uint_eq(ask(0, 7).action, ADP_ADMIT);
    ck_assert_uint_eq(ask(0, 7).action, ADP_REJECT);
}
END_TEST

START_TEST(the_wait_is_a_mean_over_the_window)
{
    begin();
    run_to(MEASURED_MS);
    for (int i = 0; i < 10; i++) { /* nine of 0 and one of 4.9 s, then of 5.1 s */
        stage.signal[WAITING] = i ? 0 : 49;
        ask(0, 7);
    }
    run_to(MEASURED_MS + 1000);
    for (int i = 0; i < 10; i++) {
        stage.signal[WAITING] = i ? 0 : 51;
        ck_assert_uint_eq(ask(0, 7).action, ADP_ADMIT);
    }
    run_to(MEASURED_MS + 2000);
    ck_assert_uint_eq(ask(0, 7).action, ADP_REJECT);
}
END_TEST

START_TEST(before_the_drain_was_measured_nothing_is_overloaded)
{
    stage_restart(&stage, NULL, 0);
    stage.signal[WAITING] = 1e6;
    for (unsigned s = 0; s < 10; s++) {
        run_to(s * 1000);
        ck_assert_uint_eq(ask(0, 7).action, ADP_ADMIT);
    }
}
END_TEST

START_TEST(of_four_instances_each_sees_a_quarter_of_the_drain)
{
    stage.n_instances = 4;
    begin();
    for (unsigned i = 0; i < 2; i++) {
        run_to(MEASURED_MS + i * 1000);
        stage.signal[WAITING] = i ? 21 : 20; /* at 40 a second: 525 ms, 500 ms */
        ck_assert_uint_eq(ask(0, 7).action, ADP_ADMIT);
    }
    run_to(MEASURED_MS + 2000);
    ck_assert_uint_eq(ask(0, 7).action, ADP_REJECT);
}
END_TEST

START_TEST(a_frozen_reading_lets_one_through_in_five_seconds)
{
    begin();
    stage.signal[WAITING] = 6;
    run_to(MEASURED_MS);
    ask(0, 7);
    unsigned admitted = 0;
    for (unsigned ms = 1000; ms <= 17000; ms += 100) {
        run_to(MEASURED_MS + ms);
        struct adp_verdict w = ask(0, 7);
        if (w.action != ADP_ADMIT)
            continue;
        ck_assert_uint_eq(ms, 1000 + 5000 * ++admitted);
        ck_assert_uint_eq(w.set & ADP_SET_MARGIN, 0);
    }
    ck_assert_uint_eq(admitted, 3);
}
END_TEST

static void teach(struct stage *h)
{
    (void)h;
    finish_ms = 50;
    stage_at(&stage, 0);
    begin();
    run_to(MEASURED_MS);
    stage.signal[WAITING] = 6;
    ask(0, 7);
    run_to(MEASURED_MS + 1000);
}

static double answer(struct stage *h)
{
    (void)h;
    return ask(0, 7).action;
}

START_TEST(a_state_is_believed_only_whole)
{
    stage_believes(&stage, teach, answer, ADP_REJECT, ADP_ADMIT);
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
    Suite *s = suite_create("dagor_inspired");
    TCase *t = tcase_create("dagor_inspired");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_declares_the_defaults_of_its_source);
    tcase_add_loop_test(t, business_is_from_the_priority, 0,
                        sizeof priorities / sizeof priorities[0]);
    tcase_add_test(t, a_user_keeps_a_level_for_an_hour);
    tcase_add_test(t, users_are_spread_over_all_levels);
    tcase_add_test(t, without_a_tenant_the_session_counts_and_without_it_the_draw);
    tcase_add_loop_test(t, the_admitted_level_walks_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, users_go_one_in_twenty_at_a_time);
    tcase_add_test(t, a_window_ends_early_after_enough_requests);
    tcase_add_test(t, the_wait_is_a_mean_over_the_window);
    tcase_add_test(t, before_the_drain_was_measured_nothing_is_overloaded);
    tcase_add_test(t, of_four_instances_each_sees_a_quarter_of_the_drain);
    tcase_add_test(t, a_frozen_reading_lets_one_through_in_five_seconds);
    tcase_add_test(t, a_state_is_believed_only_whole);
    tcase_add_test(t, it_bears_whatever_comes);
    tcase_add_test(t, its_page_tells_its_parameters_and_an_example_that_opens);
    suite_add_tcase(s, t);
    return stage_run(s);
}
