/* SPDX-License-Identifier: MIT */
/* How a page ends. One that was cut off leaves no newline at its end, whatever the framing
 * says; but some exporters (NIM 1.x, MLC) never write the last one. So a page whose last line
 * is no whole sample was cut and is not used, and of one whose last line looks like a sample
 * that is not believed: a number that was cut off is a shorter number. */
#ifndef ADP_SCRAPE_ENDING_H
#define ADP_SCRAPE_ENDING_H

#include <stddef.h>
#include <stdint.h>

/* How much of `page` is read. All of it, where its last line is ended, is "# EOF", or where it
 * is no page of metrics at all (JSON, HTML, binary). Nothing, 0, where its last line is a
 * comment, or a sample without the begin of a value.
 *
 * Else the families of which a line may be missing are left out, all of their samples, since
 * a sum or a quantile of the rest of them would be as wrong as the number: the last line's,
 * and each behind whose last line stands one of a family that began before it (the pages of
 * several engines, one behind the other: the page came back to that, and to this not yet).
 * They are overwritten with blanks, so that lines keep their numbers. 0 if that is all there
 * is.
 *
 * Blanks behind the last newline are no line, but 0 where the page came back to a family.
 *
 * On 0 the page is as it was. `ret_lines`: samples left out. [any] */
size_t adp_page_ending(char *page, size_t len, uint32_t *ret_lines);

/* Of a page of which nothing is left, what tells whether it is one of metrics: its ended lines,
 * or all of it where there is none. [any] */
size_t adp_page_ended(const char *page, size_t len);

#endif
