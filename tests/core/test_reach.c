/* SPDX-License-Identifier: MIT */
#include "core/reach.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const struct {
    struct adp_reach reach;
    bool known;
    double ceiling, threshold, tokens;
} rows[] = {
    /* 64 * 2168 = 138752 of 384000; 0.9 * 384000 / 64 */
    { { 384000, 64, 2168 }, true, 138752.0 / 384000, 0.9, 5400 },
    { { 1000, 10, 100 }, true, 1, 0.5, 50 },
    { { 1000, 10, 500 }, true, 1, 1, 100 }, /* five times as much is still full */
    { { 1000, 1, 1 }, true, 0.001, 0, 0 },
    { { 1e300, 1, 1e308 }, true, 1, 1e-300, 1 },
    { { 0, 64, 2168 }, false, 0, 0, 0 },
    { { 384000, 0, 2168 }, false, 0, 0, 0 },
    { { 384000, 64, 0 }, false, 0, 0, 0 },
    { { NAN, 64, 2168 }, false, 0, 0, 0 },
    { { 384000, 64, INFINITY }, false, 0, 0, 0 },
    { { -1, 64, 2168 }, false, 0, 0, 0 },
};

START_TEST(a_cache_gets_as_full_as_its_requests_make_it)
{
    ck_assert(adp_reach_known(&rows[_i].reach) == rows[_i].known);
    if (!rows[_i].known)
        return;
    ck_assert_double_eq_tol(adp_reach_ceiling(&rows[_i].reach), rows[_i].ceiling, 1e-12);
    ck_assert_double_eq_tol(adp_reach_tokens(&rows[_i].reach, rows[_i].threshold),
                            rows[_i].tokens, 1e-9);
}
END_TEST

/* With requests of just that many tokens the ceiling is the threshold. */
START_TEST(the_length_that_reaches_a_threshold_has_it_as_its_ceiling)
{
    for (double threshold = 0.05; threshold < 1; threshold += 0.05) {
        struct adp_reach reach = { .capacity_tokens = 384000, .concurrency = 64 };
        reach.request_tokens = adp_reach_tokens(&reach, threshold);
        ck_assert_double_eq_tol(adp_reach_ceiling(&reach), threshold, 1e-12);
    }
}
END_TEST

/* 0.9 * 384000 / 64; 0.9 * 1e9 / 1e-300 is above what a double holds. */
START_TEST(what_it_takes_is_a_number_or_not_told)
{
    char why[ADP_REACH_WHY];
    adp_reach_why(&(struct adp_reach) { 384000, 64, 2168 }, 0.9, false, why);
    ck_assert_str_eq(why,
                     "64 requests of 2168 tokens fill 0.361 of a cache of 384000, and "
                     "it takes requests of 5400 tokens");
    adp_reach_why(&(struct adp_reach) { 1000, 10, 50 }, 0.5, true, why);
    ck_assert_str_eq(why,
                     "10 requests of 50 tokens fill 0.5 of a cache of 1000, and it takes "
                     "requests of more than 50 tokens");
    adp_reach_why(&(struct adp_reach) { 1e9, 1e-300, 100 }, 0.9, false, why);
    ck_assert_str_eq(why,
                     "1e-300 requests of 100 tokens fill 1e-307 of a cache of 1e+09, "
                     "and no length of theirs reaches that");
}
END_TEST

/* c requests of t tokens fill n/1000 of a cache of 1000 · c exactly, for every n = t: at a threshold
 * of n/1000, however it was rounded, >= holds and > does not; one token less is too little. */
START_TEST(equality_is_not_lost_in_rounding)
{
    for (int n = 2; n < 1000; n++)
        for (int c = 1; c <= 64; c++) {
            struct adp_reach reach = { 1000.0 * c, c, n };
            double threshold = n / 1000.0;
            ck_assert(!adp_reach_is_short_of(&reach, threshold, false));
            ck_assert(adp_reach_is_short_of(&reach, threshold, true));
            ck_assert(!adp_reach_is_passed(&reach, threshold));
            reach.request_tokens = n - 1;
            ck_assert(adp_reach_is_short_of(&reach, threshold, false));
            ck_assert(adp_reach_is_passed(&reach, threshold));
        }
    /* The pairs at which this was found. */
    ck_assert(!adp_reach_is_short_of(&(struct adp_reach) { 10000, 10, 900 }, 0.9, false));
    ck_assert(!adp_reach_is_short_of(&(struct adp_reach) { 1000, 3, 300 }, 0.9, false));
    ck_assert(adp_reach_is_short_of(&(struct adp_reach) { 10000, 12, 1000 }, 1, true));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reach");
    TCase *t = tcase_create("reach");
    tcase_add_loop_test(t, a_cache_gets_as_full_as_its_requests_make_it, 0, COUNT(rows));
    tcase_add_test(t, the_length_that_reaches_a_threshold_has_it_as_its_ceiling);
    tcase_add_test(t, equality_is_not_lost_in_rounding);
    tcase_add_test(t, what_it_takes_is_a_number_or_not_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
