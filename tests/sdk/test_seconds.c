/* SPDX-License-Identifier: MIT */
/* The last n seconds (admitperf/seconds.h), with a clock moved by hand. */
#include <admitperf/seconds.h>

#include <check.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

enum { N = 5 };

static const struct {
    uint64_t ms;
    uint32_t gone, slot; /* slots that begin anew; slot of the second that runs */
} rolls[] = {
    { 0, N, 0 },        /* the first: a start at 0 is a start */
    { 999, 0, 0 },      /* within the second */
    { 1000, 1, 1 },     /* the next */
    { 3500, 2, 3 },     /* two on */
    { 2600, 0, 3 },     /* another thread's, a little behind: it counts in this one */
    { 7999, 4, 2 },     /* 7 mod 5; n - 1: one slot stays */
    { 12000, N, 2 },    /* n: all are older */
    { 60000, N, 0 },    /* and more */
    { 5000, N, 0 },     /* another clock: begins anew */
    { 6000, 1, 1 },     /* and goes on */
    { 1u << 31, N, 3 }, /* 2147483 mod 5 */
};

START_TEST(each_second_begins_once)
{
    struct adp_seconds s = { 0 };
    for (unsigned i = 0; i < sizeof rolls / sizeof rolls[0]; i++) {
        ck_assert_uint_eq(adp_seconds_roll(&s, rolls[i].ms * MS, N), rolls[i].gone);
        ck_assert_uint_eq(adp_seconds_slot(&s, 0, N), rolls[i].slot);
        for (uint32_t back = 0; back < N; back++)
            ck_assert_uint_eq(adp_seconds_slot(&s, back, N),
                              (rolls[i].slot + N - back) % N);
    }
}
END_TEST

/* As the header shows it, against every event counted one by one. */
START_TEST(a_ring_holds_what_came_in_the_last_n_seconds)
{
    static uint64_t events[20000];
    uint32_t count[N] = { 0 }, sum = 0, seed = 1, n_events = 0;
    struct adp_seconds s = { 0 };
    uint64_t now = 77 * 1000 * MS;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        now += (seed >> 8) % (i % 100 ? 300 : 9000) * MS;
        for (uint32_t gone = adp_seconds_roll(&s, now, N); gone; gone--) {
            uint32_t k = adp_seconds_slot(&s, gone - 1, N);
            sum -= count[k];
            count[k] = 0;
        }
        count[adp_seconds_slot(&s, 0, N)]++, sum++;
        events[n_events++] = now;
        uint32_t expect = 0;
        for (uint32_t k = n_events;
             k > 0 && now / (1000 * MS) - events[k - 1] / (1000 * MS) < N; k--)
            expect++;
        ck_assert_uint_eq(sum, expect);
    }
}
END_TEST

START_TEST(one_second_is_a_window_too)
{
    struct adp_seconds s = { 0 };
    ck_assert_uint_eq(adp_seconds_roll(&s, 9000 * MS, 1), 1);
    ck_assert_uint_eq(adp_seconds_roll(&s, 9999 * MS, 1), 0);
    ck_assert_uint_eq(adp_seconds_roll(&s, 10000 * MS, 1), 1);
    ck_assert_uint_eq(adp_seconds_slot(&s, 0, 1), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("seconds");
    TCase *t = tcase_create("seconds");
    tcase_add_test(t, each_second_begins_once);
    tcase_add_test(t, a_ring_holds_what_came_in_the_last_n_seconds);
    tcase_add_test(t, one_second_is_a_window_too);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
