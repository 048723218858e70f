/* SPDX-License-Identifier: MIT */
/* Foreign text that may be an address, shown without its secrets: user, password and query.
 * What was typed in the wrong place, or misspelt, is no address to anybody but who typed it;
 * it is treated as one when it looks a little like it. */
#ifndef ADP_CORE_VEIL_H
#define ADP_CORE_VEIL_H

#include <stddef.h>

/* Writes `text` (all of it is one foreign word) to `to`, with "..." for what may be a secret:
 *
 *     http://user:word@host/m?key=x   http://...@host/m?...
 *     http:/user:word@host            http:/...@host
 *     user:word@host:80/m             ...@host:80/m
 *     http://user:word                http://user:...      cut, or no port
 *     host:80/m?key=x                 host:80/m?...
 *
 * Anything else stays as it is. Cut to fit `cap`, which is above 0. [any] */
void adp_veil(const char *text, char *to, size_t cap);

/* The same for each word of a sentence: what stands in double quotes, the second of them
 * before a blank, one of ,.;:)? or the end; and outside of them what blanks part, without a
 * colon, comma or semicolon at its end. [any] */
void adp_veil_words(const char *text, char *to, size_t cap);

#endif
