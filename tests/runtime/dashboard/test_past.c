/* SPDX-License-Identifier: MIT */
#include "runtime/dashboard/past.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct adp_past *past;

static void create(void)
{
    past = adp_past_create();
    ck_assert_ptr_nonnull(past);
}

static void destroy(void)
{
    adp_past_destroy(past);
}

/* A moment with these counters, and a signal unless it is NaN. */
static void add(double at, double decisions, double refused, double signal)
{
    struct adp_stand stand = { .sidecar = true,
                               .decisions = decisions,
                               .refused = refused,
                               .faults = 0,
                               .n_signals = 1 };
    stand.signal[0].name = (struct adp_str) { "kv_pressure", 11 };
    stand.signal[0].value = signal;
    adp_past_add(past, at, &stand);
}

static void check_text(void (*write)(const struct adp_past *past, struct adp_line *to),
                       const char *expected)
{
    struct adp_line line;
    adp_line_init(&line);
    write(past, &line);
    ck_assert(!line.broken);
    adp_line_put(&line, "", 1);
    ck_assert_str_eq(line.text, expected);
    adp_line_finish(&line);
}

START_TEST(growth_is_over_the_time_asked_for)
{
    struct adp_growth growth;
    add(0, 0, 0, NAN);
    ck_assert(!adp_past_growth(past, 10, &growth));
    for (int i = 1; i <= 20; i++)
        add(i, i * 100, i * 5, NAN);
    ck_assert(adp_past_growth(past, 10, &growth));
    ck_assert_double_eq(growth.s, 10);
    ck_assert_double_eq(growth.decisions, 1000);
    ck_assert_double_eq(growth.refused, 50);
}
END_TEST

START_TEST(no_growth_reaches_over_a_gap)
{
    struct adp_growth growth;
    add(1, 100, 0, NAN);
    adp_past_add(past, 2, NULL);
    ck_assert(!adp_past_growth(past, 10, &growth));
    add(3, 300, 0, NAN);
    ck_assert(!adp_past_growth(past, 10, &growth));
    add(4, 310, 0, NAN);
    ck_assert(adp_past_growth(past, 10, &growth));
    ck_assert_double_eq(growth.decisions, 10);
    ck_assert_double_eq(growth.s, 1);
}
END_TEST

START_TEST(counters_that_go_back_began_anew)
{
    struct adp_growth growth;
    add(1, 1000, 10, NAN);
    add(2, 1100, 10, NAN);
    add(3, 5, 0, NAN);
    ck_assert(!adp_past_growth(past, 10, &growth));
    add(4, 25, 1, NAN);
    ck_assert(adp_past_growth(past, 10, &growth));
    ck_assert_double_eq(growth.decisions, 20);
    ck_assert_double_eq(growth.refused, 1);
}
END_TEST

START_TEST(of_no_sidecar_no_growth_is_known)
{
    struct adp_growth growth;
    add(1, NAN, NAN, 0.5);
    add(2, NAN, NAN, 0.5);
    ck_assert(!adp_past_growth(past, 10, &growth));
}
END_TEST

START_TEST(what_was_not_there_is_null)
{
    add(1, 0, 0, NAN);
    add(2, 30, 3, 0.5);
    adp_past_add(past, 3, NULL);
    add(4, 60, 3, 0.25);
    check_text(adp_past_write, "{\"signals\":[\"kv_pressure\"],\"moments\":["
                               "[1,null,null,null],[2,30,3,0.5],[3,null,null,null],"
                               "[4,null,null,0.25]]}");
    check_text(
        adp_past_write_last,
        "{\"per_s\":null,\"refused_per_s\":null,\"signals\":{\"kv_pressure\":0.25}}");
}
END_TEST

START_TEST(the_oldest_moments_are_forgotten)
{
    struct adp_growth growth;
    struct adp_line line;
    for (int i = 0; i < ADP_PAST_MOMENTS + 5; i++)
        add(i, i, 0, NAN);
    ck_assert(adp_past_growth(past, 1e9, &growth));
    ck_assert_double_eq(growth.s, ADP_PAST_MOMENTS - 1);
    adp_line_init(&line);
    adp_past_write(past, &line);
    adp_line_put(&line, "", 1);
    /* The first has none before it, the last one more a second. */
    ck_assert_ptr_nonnull(strstr(line.text, "\"moments\":[[5,null,null],[6,1,0]"));
    ck_assert_ptr_nonnull(strstr(line.text, ",[904,1,0]]}"));
    adp_line_finish(&line);
}
END_TEST

START_TEST(more_signals_than_there_is_room_for_are_left_out)
{
    struct adp_stand stand = { .sidecar = true, .n_signals = ADP_MAX_KNOWN };
    char names[ADP_MAX_KNOWN + 1][8];
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < ADP_MAX_KNOWN; i++) {
            int n = snprintf(names[i], sizeof names[i], "%c%u", k ? 'b' : 'a', i);
            stand.signal[i].name = (struct adp_str) { names[i], (size_t)n };
            stand.signal[i].value = i;
        }
        adp_past_add(past, 1 + k, &stand);
    }
    check_text(adp_past_write_last, "{\"per_s\":0,\"refused_per_s\":0,\"signals\":{}}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("past");
    TCase *tests = tcase_create("past");
    tcase_add_checked_fixture(tests, create, destroy);
    tcase_add_test(tests, growth_is_over_the_time_asked_for);
    tcase_add_test(tests, no_growth_reaches_over_a_gap);
    tcase_add_test(tests, counters_that_go_back_began_anew);
    tcase_add_test(tests, of_no_sidecar_no_growth_is_known);
    tcase_add_test(tests, what_was_not_there_is_null);
    tcase_add_test(tests, the_oldest_moments_are_forgotten);
    tcase_add_test(tests, more_signals_than_there_is_room_for_are_left_out);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
