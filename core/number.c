/* SPDX-License-Identifier: MIT */
/* Numbers as foreign text and back.
 *
 * Reading checks the grammar by hand and then takes the cheapest exact way:
 *   1. mantissa below 2^53 and |exponent| <= 22: both are exact doubles, and one IEEE
 *      multiplication or division rounds correctly (Clinger, "How to Read Floating Point
 *      Numbers Accurately", PLDI 1990, section 4);
 *   2. up to 19 digits and |exponent| <= 27: 5^27 fits 64 bits, so the quotient or
 *      product is exact in 128 bits and is rounded once (17-digit doubles end here);
 *   3. the rest: strtod on a copy that holds digits and an exponent but no point.
 * The radix character is the only thing about which strtod asks the locale, so the copy
 * reads the same in every one: no locale object, no lock, no state.
 *
 * Assumes binary64 and rounding to nearest, like everything here. */
#include "core/number.h"
#include "core/shortest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_DIGITS = 19, /* any 19 digits fit 64 bits */
    SHORT_ROOM = 11,   /* eight digits, .0 and what is behind them */
    /* No midpoint between two doubles has more significant digits (an odd m < 2^54 times
     * 2^-1075): past them it only matters whether anything but zeros follows. */
    ROUNDING_DIGITS = 768,
    /* From 10^309 on all is infinite; below 10^-324, less than half the smallest double,
     * all is zero. */
    LARGEST_POWER = 309,
    SMALLEST_POWER = -324
};

static const double power_of_ten[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static const uint64_t power_of_five[] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

static const int64_t exact_power = sizeof power_of_ten / sizeof power_of_ten[0] - 1;
static const int64_t wide_power = sizeof power_of_five / sizeof power_of_five[0] - 1;
#define EACH_BYTE UINT64_C(0x0101010101010101)
#define ZEROS     ('0' * EACH_BYTE) /* "00000000" */

static const uint64_t exact_integer = UINT64_C(1) << 53;

/* A number as written: first * 10^exponent, unless digits were left out of `first`. */
struct decimal {
    uint64_t first;     /* its first 19 significant digits */
    int64_t exponent;   /* of `first`; saturated far outside the range of doubles */
    bool more;          /* a digit other than 0 follows them */
    const char *digits; /* the first significant digit in the text */
    const char *end;    /* behind the last digit of the mantissa */
    int64_t power;      /* decimal exponent of the first significant digit */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Digits with at most one point; false, and *at unmoved, when there is no digit. */
static bool read_mantissa(const char **at, const char *end, struct decimal *d)
{
    const char *p = *at;
    bool point = false, any = false;
    int taken = 0;
    int64_t before_point = 0; /* significant digits; or, negative, zeros behind it */
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*p))
            break;
        any = true;
        if (!d->digits && *p == '0') {
            before_point -= point;
            d->exponent -= point;
            continue;
        }
        if (!d->digits)
            d->digits = p;
        before_point += !point;
        if (taken < EXACT_DIGITS) {
            d->first = d->first * 10 + (uint64_t)(*p - '0');
            d->exponent -= point;
            taken++;
        } else {
            d->more |= *p != '0';
            d->exponent += !point;
        }
    }
    d->end = p;
    d->power = before_point - 1;
    if (any)
        *at = p;
    return any;
}

static bool read_exponent(const char **at, const char *end, int64_t *ret)
{
    const char *p = *at;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return false;
    int64_t e = 0;
    for (; p < end && is_digit(*p); p++)
        if (e < INT64_MAX / 100) /* past any exponent that a mantissa could make up for */
            e = e * 10 + (*p - '0');
    *ret = minus ? -e : e;
    *at = p;
    return true;
}

/* The double nearest to m * 2^e, ties to even; m above 0 and the result normal. */
static double round_wide(unsigned __int128 m, int64_t e)
{
    uint64_t high = (uint64_t)(m >> 64);
    int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)m);
    int drop = bits - 53;
    uint64_t kept;
    if (drop <= 0) {
        kept = (uint64_t)m << -drop;
    } else {
        unsigned __int128 half = (unsigned __int128)1 << (drop - 1);
        unsigned __int128 rest = m & ((half << 1) - 1);
        kept = (uint64_t)(m >> drop);
        kept += rest > half || (rest == half && (kept & 1));
    }
    if (kept == exact_integer) { /* rounded up into the next power of two */
        kept >>= 1;
        drop++;
    }
    uint64_t exponent = (uint64_t)(e + drop + 52 + 1023);
    return double_of(exponent << 52 | (kept & (exact_integer / 2 - 1)));
}

/* w * 10^e for |e| <= wide_power, w above 0: at least 10^-27 and below 10^47. */
static double scale_wide(uint64_t w, int64_t e)
{
    if (e >= 0)
        return round_wide((unsigned __int128)w * power_of_five[e], e);
    int shift = 64 + __builtin_clzll(w);
    unsigned __int128 numerator = (unsigned __int128)w << shift;
    uint64_t divisor = power_of_five[-e];
    unsigned __int128 quotient = numerator / divisor;
    /* The quotient is at least 2^64: its lowest bit lies below the rounding bit and can
     * stand for the remainder. */
    quotient |= quotient * divisor != numerator;
    return round_wide(quotient, e - shift);
}

static double read_long(const struct decimal *d)
{
    if (d->power >= LARGEST_POWER)
        return HUGE_VAL;
    if (d->power < SMALLEST_POWER)
        return 0.0;
    char text[ROUNDING_DIGITS + 16];
    int n = 0;
    bool rest = false;
    for (const char *p = d->digits; p < d->end; p++) {
        if (*p == '.')
            continue;
        if (n < ROUNDING_DIGITS)
            text[n++] = *p;
        else
            rest |= *p != '0';
    }
    int exponent = (int)d->power - (n - 1);
    if (rest) {
        text[n++] = '1';
        exponent--;
    }
    snprintf(text + n, sizeof text - (size_t)n, "e%d", exponent);
    int before = errno; /* strtod reports overflow there; it is no error here */
    double value = strtod(text, NULL);
    errno = before;
    return value;
}

/* n * 10^e, for |e| <= wide_power. */
static double scale(uint64_t n, int64_t e)
{
    if (n < exact_integer && e >= -exact_power && e <= exact_power)
        return e < 0 ? (double)n / power_of_ten[-e] : (double)n * power_of_ten[e];
    return n ? scale_wide(n, e) : 0.0;
}

static double value_of(const struct decimal *d)
{
    if (!d->digits)
        return 0.0;
    if (!d->more && d->exponent >= -wide_power && d->exponent <= wide_power)
        return scale(d->first, d->exponent);
    return read_long(d);
}

static bool is_word(const char *p, const char *end, const char *word)
{
    for (; p < end && *word; p++, word++)
        if ((*p | 0x20) != *word)
            return false;
    return p == end && !*word;
}

bool adp_number_parse(const char *text, size_t len, double *ret)
{
    const char *p = text, *end = text + len;
    double sign = 1.0;
    if (p < end && (*p == '-' || *p == '+'))
        sign = *p++ == '-' ? -1.0 : 1.0;
    struct decimal d = { 0 };
    if (!read_mantissa(&p, end, &d)) {
        if (is_word(p, end, "inf") || is_word(p, end, "infinity"))
            *ret = sign * HUGE_VAL;
        else if (is_word(p, end, "nan"))
            *ret = NAN;
        else
            return false;
        return true;
    }
    if (p < end && (*p | 0x20) == 'e') {
        int64_t written;
        p++;
        if (!read_exponent(&p, end, &written))
            return false;
        d.exponent += written;
        d.power += written;
    }
    if (p != end)
        return false;
    *ret = sign * value_of(&d);
    return true;
}

static bool ends_number(char c)
{
    return c == '\n' || c == ' ' || c == '\t' || c == '\r';
}

/* The integer that the first `n` of eight characters XOR ZEROS are, 1 to 8, the first in
 * the lowest byte. What is behind them is shifted out, and zeros in; then digits become
 * pairs, and two multiplications bring each of the four to its place in the upper half. */
static uint64_t integer_of(uint64_t x, unsigned n)
{
    const uint64_t pairs = UINT64_C(0x000000ff000000ff);
    const uint64_t first_and_third = UINT64_C(1000000) << 32 | 100;
    const uint64_t second_and_fourth = UINT64_C(10000) << 32 | 1;
    x <<= 64 - 8 * n;
    x = x * 10 + (x >> 8);
    return ((x & pairs) * first_and_third + (x >> 16 & pairs) * second_and_fourth) >> 32;
}

/* What most numbers of a page are: up to eight digits, and .0 behind them, which is Python's
 * way to print a count. SHORT_ROOM bytes may be read. Returns what is behind them; NULL: it is
 * something else. */
static const char *scan_short(const char *p, double *ret)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    x ^= ZEROS;
    /* The highest bit of each byte that is no digit. Digits stay below it, and what is carried
     * over comes from a byte that is none. */
    uint64_t others = ((x + (0x80 - 10) * EACH_BYTE) | x) & 0x80 * EACH_BYTE;
    unsigned n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    const char *behind = p + n;
    if (behind[0] == '.' && behind[1] == '0')
        behind += 2;
    if (!n || !ends_number(*behind))
        return NULL;
    *ret = (double)integer_of(x, n);
    return behind;
}

/* Likewise up to 19 digits, a point and an exponent. */
static const char *scan_digits(const char *p, const char *end, double *ret)
{
    bool minus = p < end && *p == '-';
    p += minus;
    const char *most = end - p > EXACT_DIGITS ? p + EXACT_DIGITS : end;
    const char *digits = p;
    uint64_t n = 0;
    int64_t e = 0;
    for (; p < most && is_digit(*p); p++)
        n = n * 10 + (uint64_t)(*p - '0');
    bool any = p > digits;
    if (p < most && *p == '.') {
        const char *places = ++p;
        for (; p < most && is_digit(*p); p++)
            n = n * 10 + (uint64_t)(*p - '0');
        e = places - p;
    }
    if (any && p < end && (*p | 0x20) == 'e') {
        int64_t written;
        p++;
        any = read_exponent(&p, end, &written);
        e += any ? written : 0;
    }
    if (!any || e < -wide_power || e > wide_power || (p < end && !ends_number(*p)))
        return NULL;
    double value = scale(n, e);
    *ret = minus ? -value : value;
    return p;
}

/* Apart, so that short numbers save no registers for it. */
static __attribute__((noinline)) const char *scan_any(const char *p, const char *end,
                                                      double *ret)
{
    const char *from = p, *behind = scan_digits(p, end, ret);
    if (behind)
        return behind;
    while (p < end && !ends_number(*p))
        p++;
    return adp_number_parse(from, (size_t)(p - from), ret) ? p : NULL;
}

const char *adp_number_scan(const char *p, const char *end, double *ret)
{
    const char *behind = end - p >= SHORT_ROOM ? scan_short(p, ret) : NULL;
    return behind ? behind : scan_any(p, end, ret);
}

/* The eight digits of `value` below 10^8, zeros in front, as their characters in memory
 * order: the first in the lowest byte. Lanes of 32, 16 and 8 bits are each split in two;
 * 10486 / 2^20 and 103 / 2^10 divide by 100 and 10 exactly for what fits a lane. */
static uint64_t eight_digits(uint32_t value)
{
    uint64_t x = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    x = hundreds | (x - 100 * hundreds) << 16;
    uint64_t tens = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    x = tens | (x - 10 * tens) << 8;
    return x | ZEROS;
}

static char *put_eight(char *to, uint32_t value)
{
    uint64_t digits = eight_digits(value);
    memcpy(to, &digits, sizeof digits);
    return to + sizeof digits;
}

/* The digits of `value` below 10^8, at least one; writes eight bytes. */
static char *put_up_to_eight(char *to, uint32_t value)
{
    uint64_t digits = eight_digits(value);
    int zeros = __builtin_ctzll((digits ^ ZEROS) | UINT64_C(1) << 56) / 8;
    digits >>= 8 * zeros;
    memcpy(to, &digits, sizeof digits);
    return to + 8 - zeros;
}

size_t adp_number_print_u64(char *to, uint64_t value)
{
    const uint64_t eight = 100000000;
    char *p = to;
    if (value >= eight * eight) {
        p = put_up_to_eight(p, (uint32_t)(value / (eight * eight)));
        value %= eight * eight;
        p = put_eight(p, (uint32_t)(value / eight));
        p = put_eight(p, (uint32_t)(value % eight));
    } else if (value >= eight) {
        p = put_up_to_eight(p, (uint32_t)(value / eight));
        p = put_eight(p, (uint32_t)(value % eight));
    } else if (value < 10) {
        *p++ = (char)('0' + value);
    } else {
        p = put_up_to_eight(p, (uint32_t)value);
    }
    return (size_t)(p - to);
}

size_t adp_number_print_places(char *to, uint32_t millionths)
{
    uint64_t digits = eight_digits(millionths) >> 16;
    uint64_t set = (digits ^ ZEROS >> 16) | 1; /* at least the first place */
    memcpy(to, &digits, sizeof digits);
    return (size_t)(63 - __builtin_clzll(set)) / 8 + 1;
}

size_t adp_number_print_i64(char *to, int64_t value)
{
    if (value >= 0)
        return adp_number_print_u64(to, (uint64_t)value);
    *to = '-';
    return 1 + adp_number_print_u64(to + 1, 0 - (uint64_t)value);
}

/* millionths / 10^6 with its minus sign, without trailing zeros. */
static size_t print_millionths(char *to, bool minus, uint64_t millionths)
{
    char *p = to;
    if (minus)
        *p++ = '-';
    p += adp_number_print_u64(p, millionths / 1000000);
    uint32_t rest = (uint32_t)(millionths % 1000000);
    if (!rest)
        return (size_t)(p - to);
    *p++ = '.';
    p += adp_number_print_places(p, rest);
    return (size_t)(p - to);
}

/* As %.{15,16,17}g lays the same digits out: those are the precisions it is asked for, so
 * a number of more than 15 places before the point has an exponent only past its digits. */
static size_t print_decimal(char *to, bool minus, struct adp_decimal d)
{
    char digits[ADP_NUMBER_MAX], *p = to;
    int32_t n = (int32_t)adp_number_print_u64(digits, d.digits);
    int32_t power = n - 1 + d.exponent; /* of the first digit */
    if (minus)
        *p++ = '-';
    if (power < -4 || power >= (n > 15 ? n : 15)) {
        *p++ = digits[0];
        if (n > 1)
            *p++ = '.';
        memcpy(p, digits + 1, (size_t)n - 1);
        p += n - 1;
        *p++ = 'e';
        *p++ = power < 0 ? '-' : '+';
        uint32_t size =
            (uint32_t)(power < 0 ? -power : power); /* two digits, see shortest */
        *p++ = (char)('0' + size / 10);
        *p++ = (char)('0' + size % 10);
        return (size_t)(p - to);
    }
    if (power < 0) {
        memcpy(p, "0.000", 5);
        p += 1 - power;
        memcpy(p, digits, 20); /* all there can be, and a size that needs no call */
        return (size_t)(p + n - to);
    }
    int32_t before = power + 1 < n ? power + 1 : n; /* of them, before the point */
    memcpy(p, digits, (size_t)before);
    p += before;
    for (int32_t zeros = power + 1 - before; zeros > 0; zeros--)
        *p++ = '0';
    if (before < n) {
        *p++ = '.';
        memcpy(p, digits + before, (size_t)(n - before));
        p += n - before;
    }
    return (size_t)(p - to);
}

/* Puts a point where printf put the locale's radix character, which may be several bytes:
 * the only ones that are not digits, signs or the e. Returns the new length. */
static size_t with_point(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        bool plain = is_digit(*p) || *p == 'e' || *p == '-' || *p == '+';
        if (plain)
            *to++ = *p;
        else if (to == text || to[-1] != '.')
            *to++ = '.';
    }
    return (size_t)(to - text);
}

static size_t print_rounded(char *to, double value)
{
    char text[ADP_NUMBER_MAX + 16];
    size_t n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        double again = 0.0;
        snprintf(text, sizeof text, "%.*g", digits, value);
        n = with_point(text);
        if (digits == 17 || (adp_number_parse(text, n, &again) && again == value))
            break;
    }
    memcpy(to, text, n);
    return n;
}

size_t adp_number_print(char *to, double value)
{
    if (!isfinite(value)) {
        memcpy(to, "null", 4);
        return 4;
    }
    bool minus = signbit(value);
    double size = minus ? -value : value;
    if (value == 0.0 && minus) { /* "-0" would read as an integer, which has no sign */
        memcpy(to, "-0.0", 4);
        return 4;
    }
    /* By way of signed integers: the machine has no instruction for others. */
    if (size < 9007199254740992.0 && size == (double)(int64_t)size) { /* 2^53 */
        size_t sign = minus;
        *to = '-';
        return sign + adp_number_print_u64(to + sign, (uint64_t)(int64_t)size);
    }
    if (size < 9007199254.0) { /* 2^53 / 10^6 */
        int64_t n = (int64_t)(size * 1e6 + 0.5);
        if ((double)n / 1e6 == size)
            return print_millionths(to, minus, (uint64_t)n);
    }
    struct adp_decimal decimal;
    if (adp_shortest(size, &decimal))
        return print_decimal(to, minus, decimal);
    return print_rounded(to, value);
}
