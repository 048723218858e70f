/* SPDX-License-Identifier: MIT */
/* The shape of a page: its text without the values. An engine prints the same page every
 * second, in which only numbers change; with its shape at hand the next one is compared
 * instead of read, and only the numbers that changed are.
 *
 * Nothing is known here of what the text means: core/promtext.c cuts it and compares it.
 *
 *  1. `text` is all gaps one behind the other: gap i lies in front of value i, the last
 *     one behind the last value. Gaps and values in turn are the page, byte by byte.
 *  2. Value i belongs to series i of the metrics that hold the shape, and `text` of it, if
 *     `len` is not 0, is what that series has its value from. */
#ifndef ADP_CORE_PAGE_SHAPE_H
#define ADP_CORE_PAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_PAGE_SHAPE_MAX_TEXT (4u << 20) /* larger pages are read in full each time */

/* Longest text of a value that is kept; 17 digits with sign, point and exponent. */
enum { ADP_PAGE_VALUE_MAX = 24 };

struct adp_page_value {
    uint32_t gap;                      /* bytes of text in front */
    uint8_t len;                       /* of text; 0: not kept */
    char text[ADP_PAGE_VALUE_MAX + 3]; /* to 32 bytes in all */
};

struct adp_page_shape {
    char *text;                    /* owned */
    struct adp_page_value *values; /* owned */
    size_t len, cap;
    uint32_t n_values, cap_values;
    uint32_t tail; /* bytes of text behind the last value */
    bool whole;    /* may be compared with */

    /* What was found on the page besides: as core/promtext.h has it, and true of every
     * page with these gaps. */
    uint32_t bad_lines, first_bad_line, first_bad_column;
    const char *first_bad_why;
    bool openmetrics;
    int format; /* the page was declared as; another declaration reads otherwise */
};

/* All zero is an empty one. Forgets the text, keeps the memory. */
void adp_page_shape_clear(struct adp_page_shape *shape);
void adp_page_shape_finish(struct adp_page_shape *shape);

/* Adds a gap and the value behind it, whose text is kept if it is short enough; or, last,
 * the tail. False: no room or no memory, and the shape is good for nothing until it is
 * cleared; the page is as good as before. [control] */
bool adp_page_shape_add(struct adp_page_shape *shape, const char *gap, size_t len,
                        const char *value, size_t value_len);
bool adp_page_shape_end(struct adp_page_shape *shape, const char *tail, size_t len);

/* The text that value i has now. Longer than is kept: none is. */
void adp_page_value_set(struct adp_page_value *value, const char *text, size_t len);

#endif
