/* SPDX-License-Identifier: MIT */
/* The SDK's chance (admitperf/draw.h): the mixer against its published vectors, the
 * further numbers of a draw, and the retry time spread by them. */
#include <admitperf/draw.h>
#include <admitperf/policy.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { DRAWS = 100000 };

/* A number in [0, 1) for each i, as ids would give. */
static double draw_of(unsigned i)
{
    return (double)(adp_mix64(i + UINT64_C(1)) >> 11) * 0x1p-53;
}

/* The first outputs of splitmix64 from seed 1234567, as its reference code prints them:
 * the state grows by the golden ratio's bits, the output is the mixed state. */
static const struct {
    uint64_t state, output;
} vectors[] = {
    { UINT64_C(1234567) + UINT64_C(0x9e3779b97f4a7c15), UINT64_C(6457827717110365317) },
    { UINT64_C(1234567) + 2 * UINT64_C(0x9e3779b97f4a7c15),
      UINT64_C(3203168211198807973) },
    { UINT64_C(1234567) + 3 * UINT64_C(0x9e3779b97f4a7c15),
      UINT64_C(9817491932198370423) },
};

START_TEST(the_mixer_is_splitmix64)
{
    ck_assert_uint_eq(adp_mix64(vectors[_i].state), vectors[_i].output);
}
END_TEST

/* A draw of 0 has no bit set, so its first further number is splitmix64's first output from
 * seed 0, 0xe220a8397b1dcdaf, of which the upper 53 bits stand behind the point. */
START_TEST(a_further_number_is_the_upper_53_bits_of_the_output_and_no_other)
{
    const uint64_t upper = UINT64_C(0xe220a8397b1dcdaf) >> 11;
    ck_assert_double_eq(ldexp(adp_draw_nth(0.0, 0), 53), (double)upper);
}
END_TEST

START_TEST(further_numbers_repeat_for_a_retry_and_lie_in_the_unit_interval)
{
    static const double draws[] = { 0.0, 0x1p-53, 0.5, 0.9999999999999999 };
    static const uint32_t nths[] = { 0, 1, 2, 1000000, ADP_DRAW_JITTER };
    for (unsigned d = 0; d < 4; d++)
        for (unsigned n = 0; n < 5; n++) {
            double number = adp_draw_nth(draws[d], nths[n]);
            ck_assert(number >= 0.0 && number < 1.0);
            ck_assert(number == adp_draw_nth(draws[d], nths[n]));
            ck_assert(number != draws[d]);
        }
}
END_TEST

/* Means 1/2 within 5 standard errors (sqrt(1/12/N)); correlations 0 within 5 (1/sqrt N).
 */
START_TEST(further_numbers_are_uniform_and_independent_of_the_draw_and_each_other)
{
    double sum = 0, with_draw = 0, with_next = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        double draw = draw_of(i), a = adp_draw_nth(draw, 0), b = adp_draw_nth(draw, 1);
        sum += a;
        with_draw += (draw - 0.5) * (a - 0.5) * 12.0;
        with_next += (a - 0.5) * (b - 0.5) * 12.0;
    }
    ck_assert_double_lt(fabs(sum / DRAWS - 0.5), 5 * sqrt(1.0 / 12 / DRAWS));
    ck_assert_double_lt(fabs(with_draw / DRAWS), 5 / sqrt(DRAWS));
    ck_assert_double_lt(fabs(with_next / DRAWS), 5 / sqrt(DRAWS));
}
END_TEST

/* Who is refused at random has a small draw: their retry times must fill the spread all
 * the same, ten tenths of it each with a tenth of them (5 standard deviations of a
 * binomial: sqrt(n·0.1·0.9)). */
START_TEST(refused_clients_are_spread_over_all_of_the_spread)
{
    unsigned refused = 0, in[10] = { 0 };
    for (unsigned i = 0; i < DRAWS; i++) {
        if (draw_of(i) >= 0.1)
            continue;
        double ms = adp_jitter_ms(1000.0, 0.5, draw_of(i));
        ck_assert(ms >= 1000.0 && ms < 1500.0);
        refused++;
        in[(unsigned)((ms - 1000.0) / 50.0)]++;
    }
    for (unsigned k = 0; k < 10; k++)
        ck_assert_double_lt(fabs(in[k] - refused * 0.1), 5 * sqrt(refused * 0.09));
}
END_TEST

START_TEST(no_spread_and_no_time_stay_as_they_are)
{
    ck_assert(adp_jitter_ms(1000.0, 0.0, 0.7) == 1000.0);
    ck_assert(adp_jitter_ms(0.5, 1.0, 0.7) > 0.5); /* a short time is a time */
    ck_assert(adp_jitter_ms(0.0, 0.5, 0.7) == 0.0);
    ck_assert(adp_jitter_ms(-5.0, 0.5, 0.7) == -5.0);
    ck_assert(isnan(adp_jitter_ms(NAN, 0.5, 0.7)));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("draw");
    TCase *t = tcase_create("draw");
    tcase_add_loop_test(t, the_mixer_is_splitmix64, 0,
                        (int)(sizeof vectors / sizeof vectors[0]));
    tcase_add_test(t, a_further_number_is_the_upper_53_bits_of_the_output_and_no_other);
    tcase_add_test(t, further_numbers_repeat_for_a_retry_and_lie_in_the_unit_interval);
    tcase_add_test(
        t, further_numbers_are_uniform_and_independent_of_the_draw_and_each_other);
    tcase_add_test(t, refused_clients_are_spread_over_all_of_the_spread);
    tcase_add_test(t, no_spread_and_no_time_stay_as_they_are);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
