/* SPDX-License-Identifier: MIT */
/* The list of everything wrong with a configuration.
 *
 *  1. Sorted by place at all times; what has no place stands at the end.
 *  2. The same sentence at the same place is kept once: a mapping that is used through an
 *     alias is checked at each use, but it is wrong only once.
 *  3. Never longer than ADP_CONFIG_MAX_ERRORS and one that says so.
 *  4. Nothing that may be a secret is in a text: addresses are veiled.
 *  5. Out of memory: the error is not kept. Whoever adds must know by other means that
 *     something failed. */
#include "core/error.h"
#include "core/veil.h"
#include "runtime/config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct adp_errors *errors)
{
    if (errors->n < errors->cap)
        return true;
    uint32_t cap = errors->cap ? 2 * errors->cap : 8;
    adp_error *list = realloc(errors->list, cap * sizeof *list);
    if (!list)
        return false;
    errors->list = list;
    errors->cap = cap;
    return true;
}

/* Below 0: a stands before b. */
static int compare_places(const struct adp_error *a, const struct adp_error *b)
{
    uint32_t line_a = a->line ? a->line : UINT32_MAX;
    uint32_t line_b = b->line ? b->line : UINT32_MAX;
    if (line_a != line_b)
        return line_a < line_b ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

static bool is_same(const struct adp_error *a, const struct adp_error *b)
{
    return compare_places(a, b) == 0 && strcmp(a->text, b->text) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static void insert(struct adp_errors *errors, uint32_t i, const struct adp_error *error)
{
    if (!grow(errors))
        return;
    memmove(errors->list + i + 1, errors->list + i,
            (errors->n - i) * sizeof *errors->list);
    errors->list[i] = *error;
    errors->n++;
}

void adp_errors_add(struct adp_errors *errors, int code, const char *file,
                    struct adp_place at, const char *format, ...)
{
    if (errors->n > ADP_CONFIG_MAX_ERRORS)
        return;
    char written[sizeof errors->list->text], text[sizeof written];
    va_list args;
    va_start(args, format);
    vsnprintf(written, sizeof written, format, args);
    va_end(args);
    adp_veil_words(written, text, sizeof text);
    struct adp_error error = { 0 };
    adp_error_at(&error, code, file, at.line, at.column, "%s", text);

    uint32_t i = errors->n;
    for (; i > 0 && compare_places(&error, &errors->list[i - 1]) <= 0; i--)
        if (is_same(&error, &errors->list[i - 1]))
            return;
    while (i < errors->n && compare_places(&error, &errors->list[i]) == 0)
        i++;
    if (errors->n < ADP_CONFIG_MAX_ERRORS) {
        insert(errors, i, &error);
        return;
    }
    struct adp_error last = { 0 };
    adp_error_at(&last, ADP_EFULL, file, 0, 0, "too many errors, the first %u are kept",
                 ADP_CONFIG_MAX_ERRORS);
    insert(errors, errors->n, &last);
}

void adp_errors_free(adp_errors *errors)
{
    if (!errors)
        return;
    free(errors->list);
    *errors = (struct adp_errors) { 0 };
}
