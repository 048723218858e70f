/* SPDX-License-Identifier: MIT */
/* Building one line of JSON.
 *
 * This knows how values are spelled, not what a line must hold: that a key is followed by
 * one value and that brackets match is the caller's affair.
 *
 *  1. len <= cap, and text[0..len) is what was appended, in order, unless broken.
 *  2. Once broken nothing is appended until the line is cleared. */
#include "core/line.h"
#include "core/pen.h"

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

void adp_line_escaped(struct adp_line *line, const char *text, size_t len)
{
    if (len > SIZE_MAX / ADP_PEN_ESCAPE)
        line->broken = true;
    else if (len && adp_line_reserve(line, ADP_PEN_ESCAPE * len))
        line->len =
            (size_t)(adp_pen_escaped(line->text + line->len, text, len) - line->text);
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

void adp_line_key_text(struct adp_line *line, const char *key, const char *text)
{
    adp_line_key(line, key);
    adp_line_string_or_null(line, text);
}

void adp_line_key_number(struct adp_line *line, const char *key, double value)
{
    adp_line_key(line, key);
    adp_line_number(line, value);
}

void adp_line_key_u64(struct adp_line *line, const char *key, uint64_t value)
{
    adp_line_key(line, key);
    adp_line_u64(line, value);
}

void adp_line_key_bool(struct adp_line *line, const char *key, bool value)
{
    adp_line_key(line, key);
    adp_line_puts(line, value ? "true" : "false");
}
