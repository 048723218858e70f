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

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_DIGITS = 19, /* any 19 digits fit 64 bits */
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

static double value_of(const struct decimal *d)
{
    if (!d->digits)
        return 0.0;
    int64_t e = d->exponent;
    if (!d->more && d->first < exact_integer && e >= -exact_power && e <= exact_power)
        return e < 0 ? (double)d->first / power_of_ten[-e]
                     : (double)d->first * power_of_ten[e];
    if (!d->more && e >= -wide_power && e <= wide_power)
        return scale_wide(d->first, e);
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

/* What most numbers of a page are, an integer or a short decimal, in one pass; the rest,
 * words and exponents and what is no number, is left to adp_number_parse. */
const char *adp_number_scan(const char *p, const char *end, double *ret)
{
    const char *from = p;
    bool minus = p < end && *p == '-';
    p += minus;
    const char *most = end - p > EXACT_DIGITS ? p + EXACT_DIGITS : end;
    const char *digits = p;
    uint64_t n = 0, places = 0;
    for (; p < most && is_digit(*p); p++)
        n = n * 10 + (uint64_t)(*p - '0');
    bool any = p > digits;
    if (p < most && *p == '.' && p + 2 <= end && p[1] == '0' &&
        (p + 2 == end || ends_number(p[2]))) {
        p += 2; /* Python's way to print a count */
    } else if (p < most && *p == '.') {
        const char *point = p++;
        for (; p < most && is_digit(*p); p++)
            n = n * 10 + (uint64_t)(*p - '0');
        places = (uint64_t)(p - point) - 1;
    }
    if (any && n < exact_integer && (p == end || ends_number(*p))) {
        double value = (double)n;
        if (places)
            value /= power_of_ten[places];
        *ret = minus ? -value : value;
        return p;
    }
    while (p < end && !ends_number(*p))
        p++;
    return adp_number_parse(from, (size_t)(p - from), ret) ? p : NULL;
}

static const char digit_pairs[] = "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899";

size_t adp_number_print_u64(char *to, uint64_t value)
{
    char text[20]; /* 2^64 - 1 has 20 digits */
    char *p = text + sizeof text;
    while (value >= 100) {
        p -= 2;
        memcpy(p, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        p -= 2;
        memcpy(p, digit_pairs + value * 2, 2);
    } else {
        *--p = (char)('0' + value);
    }
    size_t n = (size_t)(text + sizeof text - p);
    memcpy(to, p, n);
    return n;
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
    uint64_t rest = millionths % 1000000;
    if (!rest)
        return (size_t)(p - to);
    *p++ = '.';
    for (uint64_t place = 100000; rest; place /= 10) {
        *p++ = (char)('0' + rest / place);
        rest %= place;
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
    if (size < 9007199254.0) { /* 2^53 / 10^6 */
        uint64_t n = (uint64_t)(size * 1e6 + 0.5);
        if ((double)n / 1e6 == size)
            return print_millionths(to, minus, n);
    } else if (size < 9007199254740992.0 && size == (double)(uint64_t)size) { /* 2^53 */
        size_t sign = minus;
        *to = '-';
        return sign + adp_number_print_u64(to + sign, (uint64_t)size);
    }
    return print_rounded(to, value);
}
