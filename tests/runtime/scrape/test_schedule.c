/* SPDX-License-Identifier: MIT */
#include "runtime/scrape/schedule.h"

#include <check.h>
#include <stdlib.h>

#define S 1000000000ull

START_TEST(slots_do_not_drift_whatever_each_costs)
{
    struct adp_schedule s;
    adp_schedule_init(&s, 7 * S, S);
    uint64_t now = 7 * S;
    for (uint64_t k = 0; k < 3600; k++) {
        ck_assert_uint_eq(adp_schedule_due_ns(&s), (7 + k) * S);
        ck_assert(adp_schedule_take(&s, now));
        ck_assert(!adp_schedule_take(&s, now));
        now = adp_schedule_due_ns(&s) + k % 400 * 1000000; /* woken late by up to 0.4 s */
    }
    ck_assert_uint_eq(s.passed, 0);
}
END_TEST

START_TEST(nothing_is_due_before_the_first_slot)
{
    struct adp_schedule s;
    adp_schedule_init(&s, 7 * S, S);
    ck_assert(!adp_schedule_take(&s, 7 * S - 1));
    ck_assert(adp_schedule_take(&s, 7 * S));
}
END_TEST

/* First slot at 10 s taken, interval 1 s; then nothing until `at`. */
static const struct {
    double at;
    bool taken;
    double due;
    uint64_t passed;
} stalls[] = {
    { 10.9, false, 11, 0 }, /* not due yet */
    { 11.5, true, 12, 0 },  /* late, by no more than half */
    { 11.6, false, 12, 1 }, /* too late: slot 11 is gone */
    { 13.4, true, 14, 2 },  /* 11 and 12 are gone, 13 is taken */
    { 13.6, false, 14, 3 }, /* 13 too */
    { 3610, true, 3611, 3599 },
};

START_TEST(after_a_stall_slots_are_passed_over_and_counted)
{
    struct adp_schedule s;
    adp_schedule_init(&s, 10 * S, S);
    ck_assert(adp_schedule_take(&s, 10 * S));
    uint64_t now = (uint64_t)(stalls[_i].at * 1e9);
    ck_assert_int_eq(adp_schedule_take(&s, now), stalls[_i].taken);
    ck_assert(!adp_schedule_take(&s, now));
    ck_assert_uint_eq(adp_schedule_due_ns(&s), (uint64_t)(stalls[_i].due * 1e9));
    ck_assert_uint_eq(s.passed, stalls[_i].passed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tc = tcase_create("schedule");
    tcase_add_test(tc, slots_do_not_drift_whatever_each_costs);
    tcase_add_test(tc, nothing_is_due_before_the_first_slot);
    tcase_add_loop_test(tc, after_a_stall_slots_are_passed_over_and_counted, 0,
                        sizeof stalls / sizeof stalls[0]);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
