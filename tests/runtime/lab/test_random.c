/* SPDX-License-Identifier: MIT */
#include "runtime/lab/random.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

/* The sequence rand_xoshiro's tests give for the state {1, 2, 3, 4}. */
static const uint64_t known[] = {
    11520u,
    0u,
    1509978240u,
    1215971899390074240u,
    1216172134540287360u,
    607988272756665600u,
    16172922978634559625u,
    8476171486693032832u,
    10595114339597558777u,
    2904607092377533576u,
};

START_TEST(the_generator_is_xoshiro256_starstar)
{
    struct adp_random random = { { 1, 2, 3, 4 } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_uint_eq(adp_random_next(&random), known[i]);
}
END_TEST

static const struct {
    uint64_t seed, repeat, stream;
} others[] = { { 2, 1, 1 }, { 1, 2, 1 }, { 1, 1, 2 }, { 0, 0, 0 } };

START_TEST(seed_repeat_and_stream_each_make_another_generator)
{
    struct adp_random one, same, other;
    adp_random_init(&one, 1, 1, 1);
    adp_random_init(&same, 1, 1, 1);
    adp_random_init(&other, others[_i].seed, others[_i].repeat, others[_i].stream);
    unsigned equal = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = adp_random_next(&one);
        ck_assert_uint_eq(x, adp_random_next(&same));
        equal += x == adp_random_next(&other);
    }
    ck_assert_uint_eq(equal, 0);
}
END_TEST

/* 100,000 draws over 10 values: each is expected 10,000 times with a standard deviation
 * of sqrt(n p (1-p)) = 94.9; five of them are allowed. */
START_TEST(between_yields_every_value_evenly_and_no_other)
{
    struct adp_random random;
    unsigned seen[32] = { 0 };
    adp_random_init(&random, 7, 1, 1);
    for (int i = 0; i < 100000; i++) {
        uint32_t x = adp_random_between(&random, 7, 16);
        ck_assert(x >= 7 && x <= 16);
        seen[x]++;
    }
    for (uint32_t x = 7; x <= 16; x++)
        ck_assert_msg(seen[x] > 9525 && seen[x] < 10475, "%u: %u", x, seen[x]);
}
END_TEST

START_TEST(between_of_one_value_is_that_value)
{
    struct adp_random random;
    adp_random_init(&random, 7, 1, 1);
    ck_assert_uint_eq(adp_random_between(&random, 12, 12), 12);
    ck_assert_uint_le(adp_random_between(&random, 0, UINT32_MAX), UINT32_MAX);
}
END_TEST

/* Poisson(10): mean 10, variance 10; over 100,000 draws the mean's standard error is
 * 0.01 and the variance's about sqrt((2 * 100 + 10) / 100000) = 0.046. P(10) = 0.12511,
 * P(0) = 4.5e-5: 12,511 and 4.5 expected. */
START_TEST(arrivals_have_the_mean_variance_and_mode_of_poisson_10)
{
    struct adp_random random;
    double sum = 0, squares = 0;
    unsigned tens = 0, zeros = 0;
    adp_random_init(&random, 7, 1, 1);
    for (int i = 0; i < 100000; i++) {
        uint32_t k = adp_random_poisson_10(&random);
        ck_assert_uint_le(k, 64);
        sum += k;
        squares += (double)k * k;
        tens += k == 10;
        zeros += k == 0;
    }
    double mean = sum / 100000, variance = squares / 100000 - mean * mean;
    ck_assert_msg(fabs(mean - 10) < 0.05, "mean %g", mean);
    ck_assert_msg(fabs(variance - 10) < 0.25, "variance %g", variance);
    ck_assert_msg(tens > 11985 && tens < 13037, "P(10): %u", tens);
    ck_assert_msg(zeros < 20, "P(0): %u", zeros);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("random");
    TCase *t = tcase_create("random");
    tcase_add_test(t, the_generator_is_xoshiro256_starstar);
    tcase_add_loop_test(t, seed_repeat_and_stream_each_make_another_generator, 0,
                        sizeof others / sizeof others[0]);
    tcase_add_test(t, between_yields_every_value_evenly_and_no_other);
    tcase_add_test(t, between_of_one_value_is_that_value);
    tcase_add_test(t, arrivals_have_the_mean_variance_and_mode_of_poisson_10);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
