/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/course.h"
#include "runtime/analysis/stretch.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* '1' held, '0' did not; decision i is at i seconds. */
static struct adp_stretch stretch_of(const char *held, size_t from, size_t past)
{
    struct adp_stretch stretch = { 0 };
    for (size_t i = from; i < past; i++)
        adp_stretch_add(&stretch, held[i] == '1', (double)i);
    return stretch;
}

static const struct {
    const char *held;
    uint64_t n;
    double from, to;
} stretches[] = {
    { "", 0, 0, 0 },          { "0", 0, 0, 0 },       { "1", 1, 0, 0 },
    { "0110", 2, 1, 2 },      { "111", 3, 0, 2 },     { "1101110", 3, 3, 5 },
    { "1110110", 3, 0, 2 },   { "0101010", 1, 1, 1 }, { "00111", 3, 2, 4 },
    { "110110111", 3, 6, 8 },
};

/* The whole, and cut in two at every place. */
START_TEST(the_longest_stretch_is_found_whole_and_in_pieces)
{
    const char *held = stretches[_i].held;
    size_t n = strlen(held);
    for (size_t cut = 0; cut <= n; cut++) {
        struct adp_stretch a = stretch_of(held, 0, cut), b = stretch_of(held, cut, n);
        adp_stretch_merge(&a, &b, true);
        ck_assert_uint_eq(a.seen, n);
        ck_assert_uint_eq(a.longest.n, stretches[_i].n);
        ck_assert_double_eq(a.longest.from, stretches[_i].from);
        ck_assert_double_eq(a.longest.to, stretches[_i].to);
    }
}
END_TEST

/* … and in three: what is merged can be merged again. */
START_TEST(pieces_of_pieces_are_the_whole)
{
    static const char held[] = "1101111011";
    size_t n = strlen(held);
    for (size_t i = 0; i <= n; i++)
        for (size_t k = i; k <= n; k++) {
            struct adp_stretch a = stretch_of(held, 0, i), b = stretch_of(held, i, k),
                               c = stretch_of(held, k, n);
            adp_stretch_merge(&b, &c, true);
            adp_stretch_merge(&a, &b, true);
            ck_assert_uint_eq(a.longest.n, 4);
            ck_assert_double_eq(a.longest.from, 3);
        }
}
END_TEST

START_TEST(no_stretch_goes_across_what_is_not_known)
{
    struct adp_stretch a = stretch_of("111", 0, 3), b = stretch_of("11", 0, 2);
    struct adp_stretch c = stretch_of("1111", 0, 4);
    adp_stretch_merge(&a, &b, false);
    ck_assert_uint_eq(a.longest.n, 3);
    adp_stretch_merge(&c, &a, true); /* 1111 111? 11 */
    ck_assert_uint_eq(c.longest.n, 7);
}
END_TEST

/* ---- over time --------------------------------------------------------------------------
 */

static uint64_t decisions(const struct adp_course *course)
{
    uint64_t n = 0;
    for (size_t i = 0; i < course->n; i++)
        n += course->bins[i].decisions;
    return n;
}

static void add(struct adp_course *course, double at)
{
    int code = 0;
    struct adp_course_bin *bin = adp_course_at(course, at, &code);
    ck_assert_ptr_nonnull(bin);
    bin->decisions++;
    adp_course_read(bin, 0, at);
}

/* 0 … 99 s: bins of 4 s are the narrowest of which 48 cover it (25 of them; of 2 s it
 * would be 50). */
START_TEST(bins_are_as_wide_as_they_must_be)
{
    struct adp_course course = { 0 };
    for (int i = 0; i < 100; i++)
        add(&course, (double)(i * 37 % 100)); /* in no order */
    ck_assert_double_eq(course.width, 4);
    ck_assert_uint_eq(course.n, 25);
    for (size_t i = 0; i < 25; i++) {
        ck_assert_uint_eq(course.bins[i].decisions, 4);
        ck_assert_double_eq(course.bins[i].signals[0].max, (double)i * 4 + 3);
        ck_assert_uint_eq(course.bins[i].signals[0].n, 4);
    }
    adp_course_finish(&course);
}
END_TEST

START_TEST(halves_merged_are_the_whole)
{
    for (int cut = 0; cut <= 200; cut += 10) {
        struct adp_course whole = { 0 }, a = { 0 }, b = { 0 };
        size_t to[ADP_COURSE_SIGNALS];
        for (size_t i = 0; i < ADP_COURSE_SIGNALS; i++)
            to[i] = i;
        for (int i = 0; i < 200; i++) {
            add(&whole, 1.79e9 + i * 0.37);
            add(i < cut ? &a : &b, 1.79e9 + i * 0.37);
        }
        ck_assert_int_eq(adp_course_merge(&b, &a, to), 0); /* the later first */
        ck_assert_double_eq(b.width, whole.width);
        ck_assert_double_eq(b.first, whole.first);
        ck_assert_uint_eq(b.n, whole.n);
        for (size_t i = 0; i < whole.n; i++) {
            ck_assert_uint_eq(b.bins[i].decisions, whole.bins[i].decisions);
            ck_assert_double_eq(b.bins[i].signals[0].max, whole.bins[i].signals[0].max);
        }
        adp_course_finish(&whole);
        adp_course_finish(&a);
        adp_course_finish(&b);
    }
}
END_TEST

/* A log may say anything. */
START_TEST(no_time_is_too_far_away)
{
    static const double times[] = { 0,      1e300, -1e300, 5e-324,   -0.0,
                                    1.79e9, 1e-9,  1e18,   INFINITY, NAN };
    struct adp_course course = { 0 };
    int code = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct adp_course_bin *bin = adp_course_at(&course, times[i], &code);
        ck_assert_int_eq(bin != NULL, isfinite(times[i]) != 0);
        if (bin)
            bin->decisions++, n++;
        ck_assert_uint_le(course.n, ADP_COURSE_BINS);
        ck_assert_uint_eq(decisions(&course), n);
    }
    adp_course_finish(&course);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stretch");
    TCase *t = tcase_create("stretch");
    tcase_add_loop_test(t, the_longest_stretch_is_found_whole_and_in_pieces, 0,
                        sizeof stretches / sizeof *stretches);
    tcase_add_test(t, pieces_of_pieces_are_the_whole);
    tcase_add_test(t, no_stretch_goes_across_what_is_not_known);
    tcase_add_test(t, bins_are_as_wide_as_they_must_be);
    tcase_add_test(t, halves_merged_are_the_whole);
    tcase_add_test(t, no_time_is_too_far_away);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
