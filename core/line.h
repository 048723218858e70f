/* SPDX-License-Identifier: MIT */
/* Building one line of JSON in a growing buffer.
 *
 * Appending never fails half-way to the caller: when memory runs out the line is marked
 * `broken`, further appends do nothing, and the owner of the line asks once at its end.
 */
#ifndef ADP_CORE_LINE_H
#define ADP_CORE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a line of a log, its newline apart: metrics that would make it longer are left
 * out of it (core/write.h), and whoever reads may hold what is longer for damage. */
#define ADP_LINE_MAX (4u << 20)

struct adp_line {
    char *text; /* owned; not NUL-terminated; NULL until the first append */
    size_t len, cap;
    bool broken; /* an allocation failed: the text is not whole */
};

void adp_line_init(struct adp_line *line);
/* Frees the text; the line is as after init. */
void adp_line_finish(struct adp_line *line);
/* Empties it for reuse: keeps the memory, and is no longer broken. */
void adp_line_clear(struct adp_line *line);

/* Makes room for `more` bytes; false when memory is out (the line is then broken). */
bool adp_line_reserve(struct adp_line *line, size_t more);

/* Appends bytes as they are. */
void adp_line_put(struct adp_line *line, const char *text, size_t len);
void adp_line_puts(struct adp_line *line, const char *text);
/* A JSON string with its quotes: ASCII only, control bytes and everything above 0x7e
 * escaped as \uXXXX (surrogate pairs above U+FFFF); each byte that is not valid UTF-8 as
 * \ufffd. */
void adp_line_string(struct adp_line *line, const char *text, size_t len);
/* The inside of such a string, for one that is put together from parts. A part ends where
 * a character ends, or that character is not valid. */
void adp_line_escaped(struct adp_line *line, const char *text, size_t len);
/* A JSON string, or null for a NULL pointer. */
void adp_line_string_or_null(struct adp_line *line, const char *text);
/* A JSON number, or null when not finite. */
void adp_line_number(struct adp_line *line, double value);
void adp_line_u64(struct adp_line *line, uint64_t value);
void adp_line_i64(struct adp_line *line, int64_t value);
/* `"key":`, with a comma before it unless the text ends in '{' , '[' or is empty. `key`
 * is one of ours: plain ASCII, not escaped. */
void adp_line_key(struct adp_line *line, const char *key);
/* A key and its value: a string or null; a number or null; true or false. */
void adp_line_key_text(struct adp_line *line, const char *key, const char *text);
void adp_line_key_number(struct adp_line *line, const char *key, double value);
void adp_line_key_u64(struct adp_line *line, const char *key, uint64_t value);
void adp_line_key_bool(struct adp_line *line, const char *key, bool value);

#endif
