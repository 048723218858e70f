/* SPDX-License-Identifier: MIT */
/* How a page ends. An exporter that is cut off in the middle of a number leaves a shorter
 * number, which no framing tells when the framing lies too; but it leaves no newline behind it
 * either. Some exporters (NIM 1.x, MLC) never write the last one, so such a page is not
 * refused: what its last line is about is not believed. */
#ifndef ADP_SCRAPE_ENDING_H
#define ADP_SCRAPE_ENDING_H

#include <stddef.h>
#include <stdint.h>

/* How much of `page` is read: all of it, if its last line is ended or is "# EOF"; else up to
 * the first of the lines at its end that are of the same family as the last one, since a sum
 * or a quantile of the rest of them would be as wrong as the number. `ret_lines`: samples
 * left out. [any] */
size_t adp_page_ending(const char *page, size_t len, uint32_t *ret_lines);

#endif
