/* SPDX-License-Identifier: MIT */
/* Numbers as foreign text and back, in the C locale whatever the process's locale is. */
#ifndef ADP_CORE_NUMBER_H
#define ADP_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest text these functions write, without a NUL. All of these bytes may be written,
 * whatever the length returned. */
#define ADP_NUMBER_MAX 32

/* Reads the whole of `text[0..len)` as a number: decimal digits with an optional sign,
 * point and exponent, or NaN, Inf, Infinity with an optional sign, in any case (Go's
 * ParseFloat as Prometheus uses it, less its hexadecimal and underscore forms). Overflow
 * reads as infinite, as strtod does. Correctly rounded. False, and *ret untouched, for
 * anything else: empty, blanks, hexadecimal, a comma, trailing bytes. [any] */
bool adp_number_parse(const char *text, size_t len, double *ret);

/* Reads the number that begins at `p` and goes up to a blank, a tab, the end of the line
 * (\n, \r) or `end`; returns what is behind it, or NULL, *ret untouched, where
 * adp_number_parse refuses those bytes. [any] */
const char *adp_number_scan(const char *p, const char *end, double *ret);

/* Writes `value` so that it reads back to the same bits, and as short as that can be: an
 * integer below 2^53, a decimal with up to 6 places, or else the shortest digits, laid out
 * as %.15g, %.16g or %.17g would, whichever is the first that has them all. Minus zero is
 * "-0.0", which JSON readers keep. Not finite: writes "null", since absence is what such
 * a value means. No NUL. Returns the length, at most ADP_NUMBER_MAX. Fast path: n =
 * round(v * 10^6), |n| < 2^53, n / 10^6 == v: both are exact doubles and IEEE division is
 * correctly rounded, so the decimal n / 10^6 reads back to v. [any] */
size_t adp_number_print(char *to, double value);

/* An integer in decimal, no NUL; returns the length. May write all of ADP_NUMBER_MAX bytes.
 * [any] */
size_t adp_number_print_u64(char *to, uint64_t value);
size_t adp_number_print_i64(char *to, int64_t value);
/* `millionths` below 10^6 as the places behind a point, zeros at the end left out but for
 * the first: 50000 is "05", 0 is "0". Writes eight bytes; returns how many count. [any] */
size_t adp_number_print_places(char *to, uint32_t millionths);

#endif
