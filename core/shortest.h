/* SPDX-License-Identifier: MIT */
/* The shortest decimal that reads back to a double, and of those the nearest to it. */
#ifndef ADP_CORE_SHORTEST_H
#define ADP_CORE_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

struct adp_decimal { /* digits * 10^exponent */
    uint64_t digits; /* at most 17 of them, the last of them not 0 */
    int32_t exponent;
};

/* The magnitude of `value`; its sign is left out. False, and *ret untouched or not to be
 * used, for zero, for what is not finite, and for what lies outside about 1e-30 to 1e30:
 * there a slower way has to do (core/number.c has it). [any] */
bool adp_shortest(double value, struct adp_decimal *ret);

#endif
