/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/numbers.h"

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

static struct adp_store *store;

static void setup(void)
{
    store = adp_store_create(ADP_STORE_MEMORY);
    ck_assert_ptr_nonnull(store);
}

static void teardown(void)
{
    adp_store_release(store);
}

static void add(struct adp_numbers *sample, double value)
{
    ck_assert_int_eq(adp_numbers_add(store, sample, value), 0);
}

static double rank(const struct adp_numbers *sample, double share)
{
    double ret;
    ck_assert_int_eq(adp_numbers_ranks(store, sample, &share, 1, &ret), 0);
    return ret;
}

START_TEST(percentiles_are_nearest_rank)
{
    struct adp_numbers sample = { 0 };
    /* Falling, so that the answer needs the sorting. */
    for (size_t i = ranks[_i].n; i > 0; i--)
        add(&sample, (double)i);
    ck_assert_double_eq(rank(&sample, ranks[_i].p), ranks[_i].rank);
    ck_assert_double_eq(adp_numbers_min(&sample), 1);
    ck_assert_double_eq(adp_numbers_max(&sample), (double)ranks[_i].n);
    adp_numbers_finish(store, &sample);
}
END_TEST

/* More than are sorted: the values 1 … n in an order that jumps about, half of them
 * negative, so that every digit of a double is asked for. */
START_TEST(many_values_have_the_same_ranks_as_few)
{
    enum { N = 99991 }; /* prime: 7919 i mod N meets each once */
    struct adp_numbers sample = { 0 };
    static const double shares[] = { 0.25, 0.5, 0.95, 1.0 };
    double found[4];
    for (size_t i = 0; i < N; i++)
        add(&sample, ((double)(i * 7919 % N) - 50000) / 7);
    ck_assert_int_eq(adp_numbers_ranks(store, &sample, shares, 4, found), 0);
    /* ceil(0.25 N) = 24998th, ceil(0.5 N) = 49996th, ceil(0.95 N) = 94992nd: from 0. */
    ck_assert_double_eq(found[0], (24997.0 - 50000) / 7);
    ck_assert_double_eq(found[1], (49995.0 - 50000) / 7);
    ck_assert_double_eq(found[2], (94991.0 - 50000) / 7);
    ck_assert_double_eq(found[3], (99990.0 - 50000) / 7);
    adp_numbers_finish(store, &sample);
}
END_TEST

/* With memory for one block the rest lies in the file, and nothing changes. */
START_TEST(what_does_not_fit_in_memory_counts_too)
{
    enum { N = 200000 };
    struct adp_store *small = adp_store_create(1);
    struct adp_numbers sample = { 0 }, more = { 0 };
    double half = 0.5, found;
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(adp_numbers_add(small, i % 2 ? &more : &sample, (double)i), 0);
    ck_assert(adp_store_spilled(small) > N * sizeof(double) / 2);
    ck_assert_int_eq(adp_numbers_merge(small, &sample, small, &more), 0);
    ck_assert_int_eq(adp_numbers_ranks(small, &sample, &half, 1, &found), 0);
    ck_assert_double_eq(found, N / 2 - 1);
    /* Into another store, out of the file. */
    struct adp_numbers other = { 0 };
    add(&other, -1);
    ck_assert_int_eq(adp_numbers_merge(store, &other, small, &sample), 0);
    ck_assert_double_eq(rank(&other, 0.5), N / 2 - 1);
    ck_assert_double_eq(adp_numbers_min(&other), -1);
    adp_numbers_finish(store, &other);
    adp_store_release(small);
}
END_TEST

START_TEST(equal_values_and_zeros_of_either_sign_are_one_value)
{
    struct adp_numbers sample = { 0 };
    for (int i = 0; i < 10000; i++)
        add(&sample, i % 2 ? 0.0 : -0.0);
    ck_assert_double_eq(rank(&sample, 0.5), 0);
    add(&sample, 1);
    ck_assert_double_eq(rank(&sample, 0.95), 0);
    ck_assert_double_eq(rank(&sample, 1), 1);
    adp_numbers_finish(store, &sample);
}
END_TEST

START_TEST(an_empty_sample_has_no_percentile)
{
    struct adp_numbers sample = { 0 };
    ck_assert(isnan(rank(&sample, 0.5)));
    ck_assert(isnan(adp_numbers_min(&sample)));
    ck_assert(isnan(adp_numbers_max(&sample)));
}
END_TEST

START_TEST(merged_samples_are_one)
{
    struct adp_numbers a = { 0 }, b = { 0 }, none = { 0 };
    add(&a, 3);
    add(&b, 1);
    add(&b, 2);
    ck_assert_int_eq(adp_numbers_merge(store, &a, store, &b), 0);
    ck_assert_int_eq(adp_numbers_merge(store, &a, store, &none), 0);
    ck_assert_uint_eq(a.pile.n, 3);
    ck_assert_uint_eq(b.pile.n, 0);
    ck_assert_double_eq(rank(&a, 0.5), 2);
    ck_assert_double_eq(adp_numbers_min(&a), 1);
    adp_numbers_finish(store, &a);
}
END_TEST

START_TEST(no_folder_to_spill_to_is_an_error_that_names_it)
{
    setenv("TMPDIR", "/nowhere/at/all", 1);
    struct adp_store *small = adp_store_create(1);
    unsetenv("TMPDIR");
    struct adp_numbers sample = { 0 };
    struct adp_error err = { 0 };
    int e = 0;
    for (int i = 0; i < 1000 && !e; i++)
        e = adp_numbers_add(small, &sample, i);
    ck_assert_int_eq(e, ADP_EIO);
    ck_assert_int_eq(adp_store_fault(small, &err), ADP_EIO);
    ck_assert_str_eq(err.file, "/nowhere/at/all");
    ck_assert_str_eq(err.text,
                     "what does not fit in memory cannot be kept here: No such file or "
                     "directory; set TMPDIR to a folder with room");
    adp_numbers_finish(small, &sample);
    adp_store_release(small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sample");
    TCase *t = tcase_create("sample");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, percentiles_are_nearest_rank, 0, sizeof ranks / sizeof *ranks);
    tcase_add_test(t, many_values_have_the_same_ranks_as_few);
    tcase_add_test(t, what_does_not_fit_in_memory_counts_too);
    tcase_add_test(t, equal_values_and_zeros_of_either_sign_are_one_value);
    tcase_add_test(t, an_empty_sample_has_no_percentile);
    tcase_add_test(t, merged_samples_are_one);
    tcase_add_test(t, no_folder_to_spill_to_is_an_error_that_names_it);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
