/* SPDX-License-Identifier: MIT */
/* Errors: filling, printing, and the nearest known word. */
#include "core/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 63 };

static void copy(char *to, size_t cap, const char *from)
{
    size_t n = strnlen(from, cap - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

/* The first error stays, and so does the first note, but before an error. */
static bool stays(const struct adp_error *err, int code)
{
    return err->code < 0 || (err->code > 0 && code > 0);
}

static int set(struct adp_error *err, int code, const char *file, uint32_t line,
               uint32_t column, const char *format, va_list args)
{
    if (!err || stays(err, code))
        return code;
    err->code = code;
    err->line = line;
    err->column = column;
    copy(err->file, sizeof err->file, file ? file : "");
    vsnprintf(err->text, sizeof err->text, format, args);
    return code;
}

int adp_error_set(struct adp_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(err, code, NULL, 0, 0, format, args);
    va_end(args);
    return code;
}

int adp_error_at(struct adp_error *err, int code, const char *file, uint32_t line,
                 uint32_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(err, code, file, line, column, format, args);
    va_end(args);
    return code;
}

size_t adp_error_format(const struct adp_error *err, char *to, size_t cap)
{
    char plain[sizeof err->file + sizeof err->text + 32];
    int n;
    if (!err)
        n = 0;
    else if (err->line && err->column && !err->file[0])
        n = snprintf(plain, sizeof plain, "line %u, column %u: %s", err->line,
                     err->column, err->text);
    else if (err->line && err->column)
        n = snprintf(plain, sizeof plain, "%s:%u:%u: %s", err->file, err->line,
                     err->column, err->text);
    else if (err->file[0])
        n = snprintf(plain, sizeof plain, "%s: %s", err->file, err->text);
    else
        n = snprintf(plain, sizeof plain, "%s", err->text);

    size_t at = 0;
    for (int i = 0; i < n && cap; i++) {
        unsigned char c = (unsigned char)plain[i];
        char piece[5] = { (char)c, '\0' };
        if (c < 0x20 || c > 0x7e)
            snprintf(piece, sizeof piece, "\\x%02x", c);
        size_t len = strlen(piece);
        if (at + len >= cap)
            break;
        memcpy(to + at, piece, len);
        at += len;
    }
    if (cap)
        to[at] = '\0';
    return at;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace, swap of neighbours, each one edit.
 */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *upper = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t swap = a[i - 1] != b[j - 1];
            now[j] = least(least(up[j] + 1, now[j - 1] + 1), up[j - 1] + swap);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], upper[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

const char *adp_error_nearest(const char *word, const char *const *words)
{
    size_t n = strnlen(word, LONGEST_WORD + 1);
    if (n > LONGEST_WORD)
        return NULL;
    size_t best = n <= 4 ? 2 : n <= 8 ? 3 : 4;
    const char *found = NULL;
    for (; *words; words++) {
        size_t m = strnlen(*words, LONGEST_WORD + 1);
        if (m > LONGEST_WORD)
            continue;
        size_t d = distance(word, n, *words, m);
        if (d < best) {
            best = d;
            found = *words;
        }
    }
    return found;
}
