/* SPDX-License-Identifier: MIT */
#include "core/shortest.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64*: the same sequence on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static const struct {
    double value;
    uint64_t digits;
    int32_t exponent;
} decimals[] = {
    { 1.0, 1, 0 },
    { 0.1, 1, -1 },
    { 0.3, 3, -1 },
    { 1.0 / 3.0, 3333333333333333, -16 },
    { 2.0 / 3.0, 6666666666666666, -16 },
    { 1000.0, 1, 3 },
    { 123456789.0, 123456789, 0 },
    { 1e22, 1, 22 },
    { 1e23, 1, 23 },
    { 5e-7, 5, -7 },
    /* 2^53 + 2 and its neighbours are 2 apart: all 16 digits are needed */
    { 9007199254740994.0, 9007199254740994, 0 },
    /* 2^-44, exactly 5.684341886080801486968994140625e-14: the gap below a power of two is
     * half as wide as the one above, 2^-98 = 3.2e-30. With 16 digits …801e-14 is 4.9e-30
     * low, too far; …802e-14 is 5.1e-30 high, inside 2^-97 = 6.3e-30 */
    { 0x1p-44, 5684341886080802, -29 },
    { 0x1p-1, 5, -1 },
};

START_TEST(a_double_has_these_digits)
{
    struct adp_decimal d = { 0, 0 };
    ck_assert(adp_shortest(decimals[_i].value, &d));
    ck_assert_uint_eq(d.digits, decimals[_i].digits);
    ck_assert_int_eq(d.exponent, decimals[_i].exponent);
}
END_TEST

static const double refused[] = { 0.0,       -0.0,  NAN,  HUGE_VAL, -HUGE_VAL,
                                  0x1p-1074, 1e-40, 1e40, DBL_MIN,  DBL_MAX };

START_TEST(what_is_out_of_range_is_left_to_others)
{
    struct adp_decimal d;
    ck_assert(!adp_shortest(refused[_i], &d));
}
END_TEST

/* Digits of what %.{places}g prints, less zeros at the end. */
static int reads_back_with(double value, int places)
{
    char text[64];
    snprintf(text, sizeof text, "%.*g", places, value);
    return strtod(text, NULL) == value;
}

static void is_shortest(double value)
{
    struct adp_decimal d;
    char text[64];
    if (!adp_shortest(value, &d))
        ck_abort_msg("%.17g is refused", value);
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)d.digits);
    snprintf(text + n, sizeof text - (size_t)n, "e%d", d.exponent);
    if (strtod(text, NULL) != value)
        ck_abort_msg("%.17g is %s", value, text);
    if (n > 17 || (n > 1 && reads_back_with(value, n - 1)))
        ck_abort_msg("%.17g is %s, and shorter would do", value, text);
    char rounded[64]; /* and where printf's rounding reads back, it is the same digits */
    snprintf(rounded, sizeof rounded, "%.*e", n - 1, value);
    double again = strtod(text, NULL);
    if (reads_back_with(value, n) && strtod(rounded, NULL) != again)
        ck_abort_msg("%.17g is %s, not %s", value, text, rounded);
}

START_TEST(no_shorter_decimal_reads_back)
{
    uint64_t state = 77;
    for (int i = 0; i < 100000; i++) {
        uint64_t r = next_random(&state);
        int power = (int)(next_random(&state) % 199) - 99; /* 2^±99: 1.6e-30 to 6e29 */
        is_shortest(ldexp(1.0 + (double)(r >> 12) * 0x1p-52, power));
        is_shortest((double)(r >> 11 | 1) * 0x1p-53);   /* a draw */
        is_shortest((double)(1 + r % 27613) / 27613.0); /* blocks used of blocks */
    }
}
END_TEST

START_TEST(powers_of_two_and_their_neighbours_are_shortest)
{
    for (int power = -99; power <= 99; power++) {
        double two = ldexp(1.0, power);
        is_shortest(two);
        is_shortest(nextafter(two, 0.0));
        is_shortest(nextafter(two, HUGE_VAL));
    }
}
END_TEST

START_TEST(short_decimals_come_back_as_they_were)
{
    uint64_t state = 5;
    for (int i = 0; i < 100000; i++) {
        uint64_t digits = 1 + next_random(&state) % 999999999999999;
        int exponent = (int)(next_random(&state) % 30) - 29;
        char text[64];
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        while (digits % 10 == 0) {
            digits /= 10;
            exponent++;
        }
        struct adp_decimal d = { 0, 0 };
        if (!adp_shortest(strtod(text, NULL), &d) || d.digits != digits ||
            d.exponent != exponent)
            ck_abort_msg("%s is %llue%d", text, (unsigned long long)d.digits, d.exponent);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shortest");
    TCase *tcase = tcase_create("shortest");
    tcase_add_loop_test(tcase, a_double_has_these_digits, 0,
                        (int)(sizeof decimals / sizeof decimals[0]));
    tcase_add_loop_test(tcase, what_is_out_of_range_is_left_to_others, 0,
                        (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(tcase, no_shorter_decimal_reads_back);
    tcase_add_test(tcase, powers_of_two_and_their_neighbours_are_shortest);
    tcase_add_test(tcase, short_decimals_come_back_as_they_were);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
