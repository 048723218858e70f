/* SPDX-License-Identifier: MIT */
/* Characters of foreign texts that are not to reach a terminal as they are: one list, for who
 * refuses such a text and for who prints it. */
#ifndef ADP_CORE_GLYPH_H
#define ADP_CORE_GLYPH_H

#include <stdbool.h>
#include <stdint.h>

/* The code point at `s`, which ends with a NUL, and its bytes, 1 to 4. What is not UTF-8 is a
 * byte by itself and reads as U+FFFD; a C1 control that stands as a bare byte reads as that
 * control, as a terminal of one-byte characters takes it. [any] */
uint32_t adp_glyph_at(const char *s, int *ret_n);

/* What a terminal obeys, or what makes a text read in another order or on more lines than it
 * has: C0, DEL, C1, the line and paragraph separators, and the marks, embeddings, overrides
 * and isolates of direction (Unicode 15, Bidi_Control). [any] */
bool adp_glyph_steers(uint32_t point);

/* That, or a character that formats and has no shape of its own (category Cf): two names that
 * differ in one of these look the same. [any] */
bool adp_glyph_hidden(uint32_t point);

#endif
