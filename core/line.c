/* SPDX-License-Identifier: MIT */
/* Building one line of JSON.
 *
 * This knows how values are spelled, not what a line must hold: that a key is followed by
 * one value and that brackets match is the caller's affair.
 *
 *  1. len <= cap, and text[0..len) is what was appended, in order, unless broken.
 *  2. Once broken nothing is appended until the line is cleared. */
#include "core/line.h"
#include "core/number.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 512 };

void adp_line_init(struct adp_line *line)
{
    *line = (struct adp_line) { 0 };
}

void adp_line_finish(struct adp_line *line)
{
    free(line->text);
    adp_line_init(line);
}

void adp_line_clear(struct adp_line *line)
{
    line->len = 0;
    line->broken = false;
}

static bool grow(struct adp_line *line, size_t more)
{
    size_t cap = line->cap ? line->cap : FIRST_CAP;
    while (cap - line->len < more) {
        if (cap > SIZE_MAX / 2)
            return false;
        cap *= 2;
    }
    char *text = realloc(line->text, cap);
    if (!text)
        return false;
    line->text = text;
    line->cap = cap;
    return true;
}

bool adp_line_reserve(struct adp_line *line, size_t more)
{
    if (line->broken)
        return false;
    if (line->cap - line->len >= more)
        return true;
    line->broken = !grow(line, more);
    return !line->broken;
}

void adp_line_put(struct adp_line *line, const char *text, size_t len)
{
    if (!len || !adp_line_reserve(line, len))
        return;
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

void adp_line_puts(struct adp_line *line, const char *text)
{
    adp_line_put(line, text, strlen(text));
}

/* What JSON takes as it is, and a terminal too. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';
}

static void put_unit(struct adp_line *line, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\',
                     'u',
                     hex[unit >> 12 & 15],
                     hex[unit >> 8 & 15],
                     hex[unit >> 4 & 15],
                     hex[unit & 15] };
    adp_line_put(line, text, sizeof text);
}

static void put_code_point(struct adp_line *line, uint32_t c)
{
    if (c == '"' || c == '\\') {
        char text[2] = { '\\', (char)c };
        adp_line_put(line, text, sizeof text);
    } else if (c > 0xffff) {
        put_unit(line, 0xd800 + ((c - 0x10000) >> 10));
        put_unit(line, 0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
        put_unit(line, c);
    }
}

/* One code point of well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing above U+10FFFF). Returns its length, or 0. `len` above 0. */
static size_t read_utf8(const unsigned char *p, size_t len, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (!n || n > len || p[0] > 0xf4)
        return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        return 0;
    *ret = c;
    return n;
}

void adp_line_escaped(struct adp_line *line, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    while (p < end) {
        const unsigned char *run = p;
        while (p < end && is_plain(*p))
            p++;
        adp_line_put(line, (const char *)run, (size_t)(p - run));
        if (p == end)
            break;
        uint32_t c = 0xfffd;
        size_t n = read_utf8(p, (size_t)(end - p), &c);
        put_code_point(line, c);
        p += n ? n : 1;
    }
}

bool adp_line_keeps(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    uint32_t c;
    while (p < end) {
        size_t n = *p < 0x80 ? 1 : read_utf8(p, (size_t)(end - p), &c);
        if (!n)
            return false;
        p += n;
    }
    return true;
}

void adp_line_string(struct adp_line *line, const char *text, size_t len)
{
    adp_line_put(line, "\"", 1);
    adp_line_escaped(line, text, len);
    adp_line_put(line, "\"", 1);
}

void adp_line_string_or_null(struct adp_line *line, const char *text)
{
    if (text)
        adp_line_string(line, text, strlen(text));
    else
        adp_line_put(line, "null", 4);
}

void adp_line_number(struct adp_line *line, double value)
{
    if (adp_line_reserve(line, ADP_NUMBER_MAX))
        line->len += adp_number_print(line->text + line->len, value);
}

void adp_line_u64(struct adp_line *line, uint64_t value)
{
    if (adp_line_reserve(line, ADP_NUMBER_MAX))
        line->len += adp_number_print_u64(line->text + line->len, value);
}

void adp_line_i64(struct adp_line *line, int64_t value)
{
    if (adp_line_reserve(line, ADP_NUMBER_MAX))
        line->len += adp_number_print_i64(line->text + line->len, value);
}

void adp_line_key(struct adp_line *line, const char *key)
{
    char last = line->len ? line->text[line->len - 1] : '{';
    if (last != '{' && last != '[')
        adp_line_put(line, ",", 1);
    adp_line_put(line, "\"", 1);
    adp_line_puts(line, key);
    adp_line_put(line, "\":", 2);
}
