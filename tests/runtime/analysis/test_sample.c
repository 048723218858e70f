/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/sample.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

/* The values are 1 … n, so the answer is the rank: ceil(p n). */
static const struct {
    size_t n;
    double p, rank;
} ranks[] = {
    { 1, 0.50, 1 },    /* ceil(0.5) */
    { 1, 0.95, 1 },    /* ceil(0.95) */
    { 2, 0.50, 1 },    /* 1 exactly: the lower of two */
    { 2, 0.95, 2 },    /* ceil(1.9) */
    { 3, 0.50, 2 },    /* ceil(1.5) */
    { 3, 0.95, 3 },    /* ceil(2.85) */
    { 20, 0.50, 10 },  /* 10 exactly */
    { 20, 0.95, 19 },  /* 19 exactly: not the greatest */
    { 101, 0.50, 51 }, /* ceil(50.5) */
    { 101, 0.95, 96 }, /* ceil(95.95) */
    { 60, 0.95, 57 },  /* 57 exactly */
    { 1000, 0.95, 950 }, { 400, 1.00, 400 },
};

START_TEST(percentiles_are_nearest_rank)
{
    struct adp_sample sample = { 0 };
    /* Falling, so that the answer needs the sorting. */
    for (size_t i = ranks[_i].n; i > 0; i--)
        ck_assert_int_eq(adp_sample_add(&sample, (double)i), 0);
    adp_sample_sort(&sample);
    ck_assert_double_eq(adp_sample_rank(&sample, ranks[_i].p), ranks[_i].rank);
    ck_assert_double_eq(adp_sample_min(&sample), 1);
    ck_assert_double_eq(adp_sample_max(&sample), (double)ranks[_i].n);
    adp_sample_finish(&sample);
}
END_TEST

START_TEST(an_empty_sample_has_no_percentile)
{
    struct adp_sample sample = { 0 };
    adp_sample_sort(&sample);
    ck_assert(isnan(adp_sample_rank(&sample, 0.5)));
    ck_assert(isnan(adp_sample_min(&sample)));
    ck_assert(isnan(adp_sample_max(&sample)));
}
END_TEST

START_TEST(merged_samples_are_one)
{
    struct adp_sample a = { 0 }, b = { 0 }, none = { 0 };
    adp_sample_add(&a, 3);
    adp_sample_add(&b, 1);
    adp_sample_add(&b, 2);
    ck_assert_int_eq(adp_sample_merge(&a, &b), 0);
    ck_assert_int_eq(adp_sample_merge(&a, &none), 0);
    adp_sample_sort(&a);
    ck_assert_uint_eq(a.n, 3);
    ck_assert_double_eq(adp_sample_rank(&a, 0.5), 2);
    ck_assert_uint_eq(b.n, 0);
    adp_sample_finish(&a);
    adp_sample_finish(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sample");
    TCase *t = tcase_create("sample");
    tcase_add_loop_test(t, percentiles_are_nearest_rank, 0, sizeof ranks / sizeof *ranks);
    tcase_add_test(t, an_empty_sample_has_no_percentile);
    tcase_add_test(t, merged_samples_are_one);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
