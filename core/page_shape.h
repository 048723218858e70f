/* SPDX-License-Identifier: MIT */
/* The shape of a page: the page, and where its values stand. An engine prints the same page
 * every second, in which only numbers change; with its shape at hand the next one is
 * compared instead of read, and only its numbers are.
 *
 * Nothing is known here of what the text means: core/promtext.c cuts it and compares it.
 *
 *  1. `text` is the page. Gaps and values lie in it in turn, gap i in front of value i, the
 *     tail behind the last.
 *  2. Value i belongs to series i of the metrics that hold the shape; what that series has
 *     now may be another page's. */
#ifndef ADP_CORE_PAGE_SHAPE_H
#define ADP_CORE_PAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_PAGE_SHAPE_MAX_TEXT (4u << 20) /* larger pages are read in full each time */

struct adp_page_value {
    uint32_t gap; /* bytes of text in front of it */
    uint32_t len; /* its own, and what follows it on its line */
    bool alone;   /* nothing does */
    double value;
};

struct adp_page_shape {
    char *text;                    /* owned */
    struct adp_page_value *values; /* owned */
    size_t len, cap;               /* of text */
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

/* Adds a value; or, last, the page that they are on, whose last `tail` bytes are behind them
 * all. False: no room or no memory, and the shape is good for nothing until it is cleared;
 * the page is as good as before. [control] */
bool adp_page_shape_add(struct adp_page_shape *shape, struct adp_page_value value);
bool adp_page_shape_end(struct adp_page_shape *shape, const char *page, size_t len,
                        size_t tail);

#endif
