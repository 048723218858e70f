/* SPDX-License-Identifier: MIT */
/* Spelling JSON into room that was made before: what the log's lines are written with, a
 * million a second, so that room is asked for once and each piece costs what it is long.
 *
 * Every function writes at `to` and returns where the next byte goes. None checks for room:
 * the caller has made as much as is said here (adp_line_reserve), and numbers may overwrite
 * all of theirs. All are [any]. */
#ifndef ADP_CORE_PEN_H
#define ADP_CORE_PEN_H

#include "core/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    ADP_PEN_ESCAPE = 6,   /* bytes that one byte of a text may become: \u001f */
    ADP_PEN_REPAIR = 3,   /* likewise, of adp_pen_repaired: U+FFFD */
    ADP_PEN_SECONDS = 32, /* adp_pen_seconds */
    ADP_PEN_HEX = 18,     /* adp_pen_hex */
    ADP_PEN_SLACK = 32    /* adp_pen_slack */
};

static inline char *adp_pen_put(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

/* The same in whole pieces: up to ADP_PEN_SLACK bytes more are read and written. For short
 * texts, of which a copy that counts costs more than the bytes do. */
static inline char *adp_pen_slack(char *to, const char *text, size_t len)
{
    for (size_t at = 0; at < len; at += ADP_PEN_SLACK)
        memcpy(to + at, text + at, ADP_PEN_SLACK);
    return to + len;
}

/* For literals: the length is known when this is compiled. */
static inline char *adp_pen_text(char *to, const char *text)
{
    return adp_pen_put(to, text, strlen(text));
}

static inline char *adp_pen_bool(char *to, bool value)
{
    return value ? adp_pen_text(to, "true") : adp_pen_text(to, "false");
}

/* A word of ours, which needs no escaping, in quotes; null for NULL. */
static inline char *adp_pen_word(char *to, const char *word)
{
    if (!word)
        return adp_pen_text(to, "null");
    *to++ = '"';
    to = adp_pen_text(to, word);
    *to++ = '"';
    return to;
}

/* ADP_NUMBER_MAX each. Not finite: null. */
static inline char *adp_pen_u64(char *to, uint64_t value)
{
    return to + adp_number_print_u64(to, value);
}
static inline char *adp_pen_i64(char *to, int64_t value)
{
    return to + adp_number_print_i64(to, value);
}
static inline char *adp_pen_number(char *to, double value)
{
    return to + adp_number_print(to, value);
}

/* Nanoseconds as seconds with microseconds, trailing zeros cut: 12.05, 3.0. */
char *adp_pen_seconds(char *to, uint64_t ns);

/* Sixteen digits in quotes. */
char *adp_pen_hex(char *to, uint64_t value);

/* The inside of a JSON string, ADP_PEN_ESCAPE bytes for each: ASCII only, control bytes and
 * everything above 0x7e escaped as \uXXXX (surrogate pairs above U+FFFF); each byte that
 * is not valid UTF-8 as \ufffd. */
char *adp_pen_escaped(char *to, const char *text, size_t len);
/* Whether that keeps every byte of it: valid UTF-8. [hot] */
bool adp_pen_keeps(const char *text, size_t len);
/* The text for a writer of JSON that is not ours: as it is, but that each byte that is not
 * valid UTF-8 is U+FFFD, as \ufffd above. ADP_PEN_REPAIR bytes for each. */
char *adp_pen_repaired(char *to, const char *text, size_t len);
/* Whether both are written alike: the same, but for bytes that are not valid UTF-8. [hot] */
bool adp_pen_alike(const char *a, size_t a_len, const char *b, size_t b_len);
/* The inside of a JSON string, with its quotes. */
static inline char *adp_pen_string(char *to, const char *text, size_t len)
{
    *to++ = '"';
    to = adp_pen_escaped(to, text, len);
    *to++ = '"';
    return to;
}

#endif
