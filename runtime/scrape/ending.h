/* SPDX-License-Identifier: MIT */
/* How a page ends. An exporter that is cut off in the middle of a number leaves a shorter
 * number, which no framing tells when the framing lies too; but it leaves no newline behind it
 * either. Some exporters (NIM 1.x, MLC) never write the last one, so such a page is not
 * refused: what its last line is about is not believed. */
#ifndef ADP_SCRAPE_ENDING_H
#define ADP_SCRAPE_ENDING_H

#include <stddef.h>
#include <stdint.h>

/* How much of `page` is read: all of it, if its last line is ended or is "# EOF", or if it is
 * no page of metrics at all; else without the lines of the family that the last one is of,
 * wherever they stand, since a sum or a quantile of the rest of them would be as wrong as the
 * number. Those at the end are behind what is read, others are overwritten with blanks, so
 * that lines keep their numbers.
 *
 * A name that was cut is any that begins so, unless a header in front of it says which. A last
 * line that is a header is about its family likewise. Where the name stood before and other
 * families stand between (the pages of several engines, one behind the other), families that
 * are first seen behind it are left out too: the last engine's lines of them have not come.
 *
 * 0: nothing is left. `ret_lines`: samples left out. [any] */
size_t adp_page_ending(char *page, size_t len, uint32_t *ret_lines);

#endif
