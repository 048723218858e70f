/* SPDX-License-Identifier: MIT */
#include "core/number.h"

#include <check.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* xorshift64*: the same sequence on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Hands over exactly `len` bytes, so that a look past the end is seen by ASan. */
static bool parse(const char *text, size_t len, double *ret)
{
    char *exact = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    bool ok = adp_number_parse(exact, len, ret);
    free(exact);
    return ok;
}

static const struct {
    const char *text;
    double value;
} numbers[] = {
    { "0", 0.0 },
    { "0.0", 0.0 },
    { "-0.0", -0.0 },
    { "-0", -0.0 },
    { "1", 1.0 },
    { "+1", 1.0 },
    { "-1.5", -1.5 },
    { "5.", 5.0 },
    { ".5", 0.5 },
    { "007", 7.0 },
    { "0.6530455880475035", 0.6530455880475035 },
    { "6.1499999999999995", 6.1499999999999995 },
    { "1.7395575657589855e+09", 1.7395575657589855e+09 },
    { "1.15891634176e+011", 115891634176.0 },
    { "9.75010481363281e-06", 9.75010481363281e-06 },
    { "3.21457e+06", 3214570.0 },
    { "1E3", 1000.0 },
    { "1e0000000000000000000000003", 1000.0 },
    { "0e99999999999999999999", 0.0 },
    { "0.00000000000000000000000000000000000000000001e44", 1.0 },
    /* the blank values of DCGM all round to 2^63 */
    { "9223372036854775794", 9223372036854775808.0 },
    { "18446744073709551616", 18446744073709551616.0 },
    /* 20 significant digits, where simdjson 3.0.1 reads 0.0277 */
    { "0.95000000000000000000", 0.95 },
    { "0.95000000000000000001", 0.95 },
    { "123456789012345678901234567890", 123456789012345678901234567890.0 },
    /* 2^53 + 1 is a tie and goes to the even 2^53; anything above it goes up */
    { "9007199254740993", 9007199254740992.0 },
    { "9007199254740993.000000000000000000000000000001", 9007199254740994.0 },
    { "9007199254740992.999999999999999999999999999999", 9007199254740992.0 },
    { "9007199254740995", 9007199254740996.0 },
    /* 10^22 is 2^22 * 5^22, and 5^22 < 2^53; 10^23 lies between two doubles, and the one
     * below is the nearer */
    { "1e22", 0x878678326eac9p22 },
    { "1e23", 0x1.52d02c7e14af6p76 },
    { "9007199254740991e22", 9007199254740991e22 },
    { "9007199254740991e-22", 9007199254740991e-22 },
    { "9007199254740992e-22", 9007199254740992e-22 },
    { "0e27", 0.0 },
    { "-0e-27", -0.0 },
    { "1234567890123456789", 1234567890123456768.0 },
    { "1.234567890123456789", 1.234567890123456789 },
    /* eight digits and less, nine and more */
    { "12345678", 12345678.0 },
    { "12345678.0", 12345678.0 },
    { "123456789.0", 123456789.0 },
    { "1.05", 1.05 },
    { "1.00", 1.0 },
    { "00000000.0", 0.0 },
    /* 1 + 2^-53 exactly, then a little more */
    { "1.00000000000000011102230246251565404236316680908203125", 1.0 },
    { "1.000000000000000111022302462515654042363166809082031251", 1.0 + DBL_EPSILON },
    /* edges of the range: the largest, half a step above it, the smallest, half of it */
    { "1.7976931348623157e308", DBL_MAX },
    { "1.7976931348623158e308", DBL_MAX },
    { "1.797693134862315807e308", DBL_MAX },
    { "1.797693134862315809e308", HUGE_VAL },
    { "2.2250738585072014e-308", DBL_MIN },
    { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
    { "4.9406564584124654e-324", 0x1p-1074 },
    { "2.4703282292062328e-324", 0x1p-1074 },
    { "2.4703282292062327e-324", 0.0 },
    { "9.9e-325", 0.0 },
    { "1e-400", 0.0 },
    { "-1e-400", -0.0 },
    { "1e999", HUGE_VAL },
    { "-1e999", -HUGE_VAL },
    { "1e99999999999999999999", HUGE_VAL },
    { "1e-99999999999999999999", 0.0 },
    { "Inf", HUGE_VAL },
    { "+Inf", HUGE_VAL },
    { "-Inf", -HUGE_VAL },
    { "inf", HUGE_VAL },
    { "INFINITY", HUGE_VAL },
    { "-infinity", -HUGE_VAL },
};

START_TEST(a_number_reads_as_the_nearest_double)
{
    double value = 7.0;
    ck_assert(parse(numbers[_i].text, strlen(numbers[_i].text), &value));
    ck_assert_msg(bits_of(value) == bits_of(numbers[_i].value), "%s reads as %.17g",
                  numbers[_i].text, value);
}
END_TEST

static const char *const nans[] = { "NaN", "nan", "NAN", "+nan", "-NaN" };

START_TEST(nan_is_read_in_any_case)
{
    double value = 7.0;
    ck_assert(parse(nans[_i], strlen(nans[_i]), &value));
    ck_assert(isnan(value));
}
END_TEST

static const char *const not_numbers[] = {
    "",       " ",     " 1",         "1 ",    "\t1",      "1\n",       "+",    "-",
    ".",      "-.",    "e5",         ".e5",   "1e",       "1e+",       "1e-",  "1e5.0",
    "1.2.3",  "1,5",   "1_000",      "0x10",  "0x1p3",    "--1",       "+-1",  "1a",
    "nan(1)", "na",    "nanx",       "in",    "infinit",  "infinityx", ".inf", ".nan",
    "1inf",   "1e5e5", "580.105.08", "ERROR", "\xd9\xa1", "1f",        "1d",   "1l",
    "I",      "N/A",   "GPU-0000-",  "true",  "MIG-1234", "1e 5",      "- 1",  "\"1\"",
};

START_TEST(anything_else_is_no_number_and_leaves_the_result_alone)
{
    double value = 7.0;
    ck_assert(!parse(not_numbers[_i], strlen(not_numbers[_i]), &value));
    ck_assert(value == 7.0);
}
END_TEST

/* Scans from an exact copy of `text`; how many bytes were read, or -1. */
static int scan(const char *text, size_t len, double *ret)
{
    char *exact = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    const char *behind = adp_number_scan(exact, exact + len, ret);
    int n = behind ? (int)(behind - exact) : -1;
    free(exact);
    return n;
}

/* What scanning says of `text` is what parsing says of its bytes up to a blank or the end of
 * the line. */
static void scans_as_it_parses(const char *text)
{
    double value = 7.0, scanned = 7.0;
    size_t len = strcspn(text, " \t\r\n");
    int expected = parse(text, len, &value) ? (int)len : -1;
    int n = scan(text, strlen(text), &scanned);
    if (n != expected || bits_of(scanned) != bits_of(value))
        ck_abort_msg("of \"%s\" %d bytes are read, as %.17g; %d and %.17g alone", text, n,
                     scanned, expected, value);
}

static const char *const behind[] = {
    "",
    "\n",
    " ",
    "\t",
    "\r\n",
    "\nvllm:num_requests_running 0.0\n",
    " 1395066363000\nb 1",
    "\t# {trace_id=\"x\"} 0.5\n",
};

START_TEST(a_number_in_a_line_reads_as_it_does_alone)
{
    char text[256];
    for (int i = 0; i < COUNT(numbers) + COUNT(not_numbers) + COUNT(nans); i++) {
        int k = i - COUNT(numbers), l = k - COUNT(not_numbers);
        snprintf(text, sizeof text, "%s%s",
                 k < 0   ? numbers[i].text
                 : l < 0 ? not_numbers[k]
                         : nans[l],
                 behind[_i]);
        scans_as_it_parses(text);
    }
}
END_TEST

START_TEST(whatever_looks_like_a_number_in_a_line_reads_as_it_does_alone)
{
    static const char digits[] = "0123456789", signs[] = "..eE+-\xff\xfa:/ \n";
    uint64_t state = 58;
    char text[32];
    for (int i = 0; i < 300000; i++) {
        int n = (int)(next_random(&state) % 24);
        for (int k = 0; k < n; k++)
            text[k] = next_random(&state) % 8
                          ? digits[next_random(&state) % (sizeof digits - 1)]
                          : signs[next_random(&state) % (sizeof signs - 1)];
        text[n] = '\0';
        scans_as_it_parses(text);
        if (n > 3) { /* a count, as Python prints it */
            memcpy(text + n - 3, ".0\n", 3);
            scans_as_it_parses(text);
        }
    }
}
END_TEST

START_TEST(a_nul_byte_is_no_part_of_a_number)
{
    double value = 7.0;
    ck_assert(!parse("1\0", 2, &value));
    ck_assert(!parse("\0", 1, &value));
    ck_assert(!parse("nan\0", 4, &value));
}
END_TEST

START_TEST(the_length_bounds_what_is_read)
{
    double value = 7.0;
    ck_assert(adp_number_parse("1234", 2, &value));
    ck_assert(value == 12.0);
    ck_assert(adp_number_parse("1e55", 3, &value));
    ck_assert(value == 1e5);
}
END_TEST

START_TEST(a_digit_thousands_of_places_behind_a_tie_still_counts)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "9007199254740993.%04000d", 0);
    double value = 0.0;
    ck_assert(parse(text, (size_t)n, &value));
    ck_assert(value == 9007199254740992.0);
    text[n - 1] = '1';
    ck_assert(parse(text, (size_t)n, &value));
    ck_assert(value == 9007199254740994.0);
}
END_TEST

START_TEST(zeros_by_the_thousand_change_nothing)
{
    char text[4096];
    double value = 0.0;
    int n = snprintf(text, sizeof text, "0.%02000d25e2000", 0);
    ck_assert(parse(text, (size_t)n, &value));
    ck_assert(value == 0.25);
    n = snprintf(text, sizeof text, "25%02000de-2001", 0);
    ck_assert(parse(text, (size_t)n, &value));
    ck_assert(value == 2.5);
}
END_TEST

START_TEST(errno_is_left_alone)
{
    double value;
    errno = 0;
    ck_assert(adp_number_parse("1.5e308", 7, &value));
    ck_assert(adp_number_parse("1.9e308", 7, &value));
    ck_assert(adp_number_parse("1.23456789e-320", 15, &value));
    ck_assert_int_eq(errno, 0);
}
END_TEST

/* glibc's strtod is correctly rounded, and the tests run in the C locale. (Assertions
 * write to a pipe each time: in a loop of a million only the failures may.) */
static void same_as_strtod(const char *text, int n)
{
    double value = 7.0;
    bool ok = adp_number_parse(text, (size_t)n, &value);
    if (!ok || bits_of(value) != bits_of(strtod(text, NULL)))
        ck_abort_msg("%s reads as %.17g", text, value);
}

START_TEST(random_decimals_read_as_strtod_reads_them)
{
    uint64_t state = 20261130;
    char text[64];
    for (int i = 0; i < 300000; i++) {
        uint64_t mantissa = next_random(&state) >> (next_random(&state) % 64);
        int power = (int)(next_random(&state) % 61) - 30;
        if (i % 8 == 0)
            power = (int)(next_random(&state) % 700) - 360;
        same_as_strtod(text, snprintf(text, sizeof text, "%llue%d",
                                      (unsigned long long)mantissa, power));
        same_as_strtod(text, snprintf(text, sizeof text, "%llu.%010llu",
                                      (unsigned long long)(mantissa >> 32),
                                      (unsigned long long)(mantissa & 0xffffffff)));
    }
}
END_TEST

START_TEST(midpoints_between_doubles_read_as_strtod_reads_them)
{
    uint64_t state = 953;
    char text[128];
    for (int i = 0; i < 100000; i++) {
        /* An odd multiple of half a unit in the last place, exactly in decimal. */
        uint64_t odd = (next_random(&state) >> 11 | UINT64_C(1) << 52) << 1 | 1;
        int places = (int)(next_random(&state) % 10);
        double midpoint_low = (double)(odd >> places);
        uint64_t below = odd & ((UINT64_C(1) << places) - 1);
        /* below / 2^places has `places` decimals: below * 5^places. */
        uint64_t fraction = below;
        for (int k = 0; k < places; k++)
            fraction *= 5;
        int n = places ? snprintf(text, sizeof text, "%.0f.%0*llu", midpoint_low, places,
                                  (unsigned long long)fraction)
                       : snprintf(text, sizeof text, "%llu", (unsigned long long)odd);
        same_as_strtod(text, n);
        same_as_strtod(text, n + snprintf(text + n, sizeof text - (size_t)n, "%s",
                                          places ? "0000001" : "e-3"));
    }
}
END_TEST

/* odd * 2^-1075 in decimal, all of its digits: half of a double that printf writes out.
 */
static size_t print_midpoint(char *to, size_t cap, uint64_t odd)
{
    int n = snprintf(to, cap, "%.1074f0", double_of(odd));
    int rest = 0;
    for (int i = 0; i < n; i++) {
        if (to[i] == '.')
            continue;
        int digit = rest * 10 + (to[i] - '0');
        to[i] = (char)('0' + digit / 2);
        rest = digit % 2;
    }
    return (size_t)n;
}

START_TEST(the_last_of_760_digits_decides_a_tie)
{
    char text[1200];
    for (int i = 0; i < 52; i++) {
        uint64_t below = (UINT64_C(1) << i) - 1; /* units of 2^-1074: 0, 1, 3, 7 … */
        size_t n = print_midpoint(text, sizeof text, 2 * below + 1);
        ck_assert_int_eq(text[n - 1], '5');
        double value = 7.0;
        ck_assert(parse(text, n, &value));
        ck_assert(value == double_of(below + (below & 1)));
        text[n - 1] = '4';
        ck_assert(parse(text, n, &value));
        ck_assert(value == double_of(below));
        text[n - 1] = '6';
        ck_assert(parse(text, n, &value));
        ck_assert(value == double_of(below + 1));
    }
}
END_TEST

static const struct {
    double value;
    const char *text;
} prints[] = {
    { 0.0, "0" },
    { -0.0, "-0.0" },
    { 1.0, "1" },
    { -1.0, "-1" },
    { 418.0, "418" },
    { 0.5, "0.5" },
    { -0.3875, "-0.3875" },
    { 0.000001, "0.000001" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 0.95, "0.95" },
    { 1e-7, "1e-07" },
    { 0.6530455880475035, "0.6530455880475035" },
    { 6.1499999999999995, "6.1499999999999995" },
    { 1796004541.240248, "1796004541.240248" },
    { 9007199253.5, "9007199253.5" },
    { 100000000000.0, "100000000000" },
    { 9007199254740991.0, "9007199254740991" },
    { -9007199254740991.0, "-9007199254740991" },
    { 9007199254740992.0, "9007199254740992" },
    { 9223372036854775808.0, "9.223372036854776e+18" },
    { DBL_MAX, "1.7976931348623157e+308" },
    { DBL_MIN, "2.2250738585072014e-308" },
    { 0x1p-1074, "4.94065645841247e-324" },
    { NAN, "null" },
    { HUGE_VAL, "null" },
    { -HUGE_VAL, "null" },
};

static void print_is(double value, const char *text)
{
    char to[ADP_NUMBER_MAX + 1];
    memset(to, '#', sizeof to);
    size_t n = adp_number_print(to, value);
    ck_assert_uint_le(n, ADP_NUMBER_MAX);
    ck_assert_int_eq(to[ADP_NUMBER_MAX], '#');
    to[n] = '\0';
    ck_assert_str_eq(to, text);
}

START_TEST(a_double_prints_short)
{
    print_is(prints[_i].value, prints[_i].text);
}
END_TEST

static void reads_back(double value)
{
    char to[ADP_NUMBER_MAX];
    double again = 7.0;
    size_t n = adp_number_print(to, value);
    if (n > sizeof to || !adp_number_parse(to, n, &again) ||
        bits_of(again) != bits_of(value))
        ck_abort_msg("%.17g prints as %.*s", value, (int)n, to);
}

START_TEST(every_finite_bit_pattern_reads_back_to_itself)
{
    uint64_t state = 1;
    for (int i = 0; i < 300000; i++) {
        double value = double_of(next_random(&state));
        if (isfinite(value))
            reads_back(value);
    }
    for (int i = 0; i < 2000; i++) { /* the least and the greatest of each sign */
        reads_back(double_of((uint64_t)i));
        reads_back(double_of(bits_of(DBL_MAX) - (uint64_t)i));
        reads_back(-double_of(bits_of(DBL_MIN) - 1000 + (uint64_t)i));
    }
}
END_TEST

START_TEST(doubles_as_metrics_have_them_read_back_to_themselves)
{
    uint64_t state = 2;
    for (int i = 0; i < 200000; i++) {
        uint64_t r = next_random(&state);
        reads_back((double)(r >> 11) * 0x1p-53);              /* a fraction */
        reads_back((double)(r % 1000) / 1000.0);              /* a rounded one */
        reads_back(-(double)(r % 1000000007) / 1e6);          /* six places */
        reads_back(1.7e9 + (double)(r % 100000000000) / 1e3); /* a time */
        reads_back((double)(r >> (r % 64)));                  /* a count */
    }
}
END_TEST

static const struct {
    uint64_t value;
    const char *text;
} unsigned_prints[] = {
    { 0, "0" },
    { 9, "9" },
    { 10, "10" },
    { 99, "99" },
    { 100, "100" },
    { 101, "101" },
    { 99999999, "99999999" },
    { 100000000, "100000000" },
    { 1234567890, "1234567890" },
    { 9999999999999999, "9999999999999999" },
    { 10000000000000000, "10000000000000000" },
    { 10000000100000002, "10000000100000002" },
    { UINT64_MAX, "18446744073709551615" },
};

START_TEST(an_unsigned_integer_prints_in_decimal)
{
    char to[ADP_NUMBER_MAX];
    size_t n = adp_number_print_u64(to, unsigned_prints[_i].value);
    ck_assert_uint_eq(n, strlen(unsigned_prints[_i].text));
    ck_assert_mem_eq(to, unsigned_prints[_i].text, n);
}
END_TEST

START_TEST(integers_of_up_to_seven_digits_print_as_printf_prints_them)
{
    char to[ADP_NUMBER_MAX], want[ADP_NUMBER_MAX];
    for (uint64_t i = 0; i < 10000000; i += 1 + i / 1000) {
        size_t n = adp_number_print_u64(to, i);
        int m = snprintf(want, sizeof want, "%llu", (unsigned long long)i);
        if (n != (size_t)m || memcmp(to, want, n) != 0)
            ck_abort_msg("%s prints as %.*s", want, (int)n, to);
    }
}
END_TEST

static const struct {
    uint32_t millionths;
    const char *text;
} places[] = {
    { 0, "0" },       { 1, "000001" },      { 10, "00001" },
    { 500000, "5" },  { 50000, "05" },      { 123456, "123456" },
    { 120000, "12" }, { 999999, "999999" }, { 900009, "900009" },
};

START_TEST(places_have_no_zeros_at_their_end)
{
    char to[8];
    size_t n = adp_number_print_places(to, places[_i].millionths);
    ck_assert_uint_eq(n, strlen(places[_i].text));
    ck_assert_mem_eq(to, places[_i].text, n);
}
END_TEST

static const struct {
    int64_t value;
    const char *text;
} signed_prints[] = {
    { 0, "0" },
    { -1, "-1" },
    { -10, "-10" },
    { 42, "42" },
    { INT64_MAX, "9223372036854775807" },
    { INT64_MIN, "-9223372036854775808" },
};

START_TEST(a_signed_integer_prints_in_decimal)
{
    char to[ADP_NUMBER_MAX];
    size_t n = adp_number_print_i64(to, signed_prints[_i].value);
    ck_assert_uint_eq(n, strlen(signed_prints[_i].text));
    ck_assert_mem_eq(to, signed_prints[_i].text, n);
}
END_TEST

/* The radix of ps_AF is U+066B, two bytes. */
static const char *const foreign[] = { "de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                       "de_DE",       "ps_AF.UTF-8", "ps_AF" };

START_TEST(the_locale_changes_nothing)
{
    if (!setlocale(LC_ALL, foreign[_i])) {
        printf("skipped: locale %s is not installed\n", foreign[_i]);
        return;
    }
    char point[8];
    snprintf(point, sizeof point, "%.1f", 0.5);
    ck_assert_str_ne(point, "0.5"); /* else it proves nothing */
    double value = 7.0;
    ck_assert(adp_number_parse("1.5", 3, &value));
    ck_assert(value == 1.5);
    ck_assert(adp_number_parse("1.234567890123456789012e-300", 28, &value));
    ck_assert(value == 1.234567890123456789012e-300);
    ck_assert(!adp_number_parse("1,5", 3, &value));
    print_is(0.1 + 0.2, "0.30000000000000004");
    print_is(1.25e-9, "1.25e-09");
    print_is(0.25, "0.25");
    setlocale(LC_ALL, "C");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("number");
    TCase *t = tcase_create("number");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_number_reads_as_the_nearest_double, 0, COUNT(numbers));
    tcase_add_loop_test(t, nan_is_read_in_any_case, 0, COUNT(nans));
    tcase_add_loop_test(t, anything_else_is_no_number_and_leaves_the_result_alone, 0,
                        COUNT(not_numbers));
    tcase_add_loop_test(t, a_number_in_a_line_reads_as_it_does_alone, 0, COUNT(behind));
    tcase_add_test(t, whatever_looks_like_a_number_in_a_line_reads_as_it_does_alone);
    tcase_add_test(t, a_nul_byte_is_no_part_of_a_number);
    tcase_add_test(t, the_length_bounds_what_is_read);
    tcase_add_test(t, a_digit_thousands_of_places_behind_a_tie_still_counts);
    tcase_add_test(t, zeros_by_the_thousand_change_nothing);
    tcase_add_test(t, errno_is_left_alone);
    tcase_add_test(t, random_decimals_read_as_strtod_reads_them);
    tcase_add_test(t, midpoints_between_doubles_read_as_strtod_reads_them);
    tcase_add_test(t, the_last_of_760_digits_decides_a_tie);
    tcase_add_loop_test(t, a_double_prints_short, 0, COUNT(prints));
    tcase_add_test(t, every_finite_bit_pattern_reads_back_to_itself);
    tcase_add_test(t, doubles_as_metrics_have_them_read_back_to_themselves);
    tcase_add_loop_test(t, an_unsigned_integer_prints_in_decimal, 0,
                        COUNT(unsigned_prints));
    tcase_add_test(t, integers_of_up_to_seven_digits_print_as_printf_prints_them);
    tcase_add_loop_test(t, places_have_no_zeros_at_their_end, 0, COUNT(places));
    tcase_add_loop_test(t, a_signed_integer_prints_in_decimal, 0, COUNT(signed_prints));
    tcase_add_loop_test(t, the_locale_changes_nothing, 0, COUNT(foreign));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
