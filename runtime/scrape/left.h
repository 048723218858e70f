/* SPDX-License-Identifier: MIT */
/* What of a page is not read though the page is: counted, and in words for people, since a
 * signal may be absent, or another one, because of it. */
#ifndef ADP_SCRAPE_LEFT_H
#define ADP_SCRAPE_LEFT_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What is said, also of a page from a file: formats for how many lines or series. */
#define ADP_LEFT_BAD "%s; %u of its lines left out"
#define ADP_LEFT_CUT                                                                     \
    "the last line has no newline and may be cut: %u lines left out, of its metric and " \
    "of any that may lack one"
#define ADP_LEFT_NOTHING                                                                 \
    "the last line has no newline, and no metric in front of it is sure to be whole"
#define ADP_LEFT_TWICE                                                                   \
    "%u of its series stand there more than once: the last value is taken"

struct adp_scrape_left {
    uint32_t bad_lines; /* skipped */
    uint32_t first_bad_line, first_bad_column;
    const char *first_bad_why; /* static */
    uint32_t cut_lines;        /* since the last line has no newline (ending.h) */
    uint32_t duplicates;       /* series given again, the last taken */
    uint32_t no_room;          /* series of a pool: its label has no room (pool.h) */
};

/* True when there is something, and it stands in *note behind what does already (code 0:
 * nothing), with the place of the first bad line if that has none; the page's name is the
 * caller's to put into note->file. [any] */
bool adp_scrape_left_note(const struct adp_scrape_left *left, struct adp_error *note);

#endif
