/* SPDX-License-Identifier: MIT */
/* The shape of a page: its text without the values. An engine prints the same page every
 * second, in which only numbers change; with its shape at hand the next one is compared
 * instead of read, and only the numbers are.
 *
 * Nothing is known here of what the text means: core/promtext.c cuts it and compares it.
 *
 *  1. `text` is all gaps one behind the other: gap i lies in front of value i, the last
 *     one behind the last value. Values and gaps in turn are the page, byte by byte.
 *  2. Value i belongs to series i of the metrics that hold the shape. */
#ifndef ADP_CORE_PAGE_SHAPE_H
#define ADP_CORE_PAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_PAGE_SHAPE_MAX_TEXT (4u << 20) /* larger pages are read in full each time */

struct adp_page_shape {
    char *text;     /* owned */
    uint32_t *gaps; /* owned; length of each, n_values + 1 of them once whole */
    size_t len, cap;
    uint32_t n_values, n_gaps, cap_gaps;
    bool whole; /* may be compared with */

    /* What was found on the page besides: as core/promtext.h has it, and true of every
     * page with these gaps. */
    uint32_t bad_lines, first_bad_line;
    const char *first_bad_why;
    bool openmetrics;
    int format; /* the page was declared as; another declaration reads otherwise */
};

/* All zero is an empty one. Forgets the text, keeps the memory. */
void adp_page_shape_clear(struct adp_page_shape *shape);
void adp_page_shape_finish(struct adp_page_shape *shape);

/* Adds a gap. False: no room or no memory, and the shape is good for nothing until it is
 * cleared; the page is as good as before. [control] */
bool adp_page_shape_add(struct adp_page_shape *shape, const char *text, size_t len);

#endif
