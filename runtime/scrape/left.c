/* SPDX-License-Identifier: MIT */
/* What is left out, in words (left.h). */
#include "runtime/scrape/left.h"

#include "core/metrics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Behind what stands there, as far as there is room. */
static void add(struct adp_error *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct adp_error *note, const char *format, ...)
{
    size_t len = strnlen(note->text, sizeof note->text - 1);
    va_list args;
    if (note->code && len + 2 < sizeof note->text) {
        memcpy(note->text + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    vsnprintf(note->text + len, sizeof note->text - len, format, args);
    va_end(args);
    note->code = ADP_NOTE;
}

bool adp_scrape_left_note(const struct adp_scrape_left *left, struct adp_error *note)
{
    if (!left->bad_lines && !left->cut_lines && !left->duplicates && !left->no_room)
        return false;
    if (!note->code)
        note->text[0] = '\0';
    if (left->bad_lines) {
        if (!note->line) {
            note->line = left->first_bad_line;
            note->column = left->first_bad_column;
        }
        add(note, ADP_LEFT_BAD, left->first_bad_why, left->bad_lines);
    }
    if (left->cut_lines)
        add(note, ADP_LEFT_CUT, left->cut_lines);
    if (left->no_room)
        add(note, "%u series left out, whose %u labels leave no room for \"target\"",
            left->no_room, ADP_METRICS_MOST_LABELS);
    if (left->duplicates)
        add(note, ADP_LEFT_TWICE, left->duplicates);
    return true;
}
