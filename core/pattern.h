/* SPDX-License-Identifier: MIT */
/* Patterns over label values, as =~ and !~ in a selector use them (core/expr.h).
 *
 * The part of RE2's syntax that selectors are written with, always against the whole
 * value: bytes, . (any byte), [a-z] and [^a-z], \d \w \s, a backslash before punctuation,
 * * + ?, |, ( ) and (?: ). A ^ in front and a $ at the end change nothing. Counted
 * repetition, flags and backreferences are refused, not guessed at.
 *
 * libc's regexec is not used because it allocates and may take exponential time. */
#ifndef ADP_CORE_PATTERN_H
#define ADP_CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* A pattern's program may hold this many steps; a byte of a pattern takes about one. */
#define ADP_PATTERN_STEPS 256u

struct adp_pattern; /* read-only once made, shared by threads */

/* Compiles `text[0..len)`. ADP_ESYNTAX, ADP_EINVAL (too long, or nested deeper than 16)
 * with a few static words in *ret_why; ADP_ENOMEM. [control] */
int adp_pattern_compile(struct adp_pattern **ret, const char *text, size_t len,
                        const char **ret_why);
void adp_pattern_destroy(struct adp_pattern *pattern);

/* True when the whole of `value[0..len)` matches. Time is at most len times the steps;
 * allocates nothing. [hot] */
bool adp_pattern_match(const struct adp_pattern *pattern, const char *value, size_t len);

#endif
