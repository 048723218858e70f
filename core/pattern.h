/* SPDX-License-Identifier: MIT */
/* Patterns over label values, as =~ and !~ in a selector use them (core/expr.h).
 *
 * The part of RE2's syntax that selectors are written with, as Prometheus has it: always
 * against the whole value, and . is any character, a newline too. Characters are UTF-8's.
 *   a          itself, outside . [ ] ( ) { } * + ? | ^ $ and \
 *   .          any character
 *   [a-z] [^a-z]  one of, or none of; in it \d \w \s, [:alpha:] and the like; ASCII only
 *   \d \w \s   a digit; a digit, letter or _; a blank; ASCII
 *   \.         a backslash before punctuation: that itself
 *   e* e+ e?   any number, at least one, at most one
 *   e|f (e) (?:e)
 * A ^ in front and a $ at the end change nothing. What else RE2 or POSIX knows (counted
 * repetition, flags, \b, backreferences, [=a=]) is refused, not guessed at. Where POSIX
 * reads these otherwise, RE2 is followed: a backslash in [ ] is an escape.
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
