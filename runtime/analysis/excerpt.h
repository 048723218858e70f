/* SPDX-License-Identifier: MIT */
/* Lines of a log as they stand in it, with their numbers: what a figure was counted from.
 *
 *  1. Lines are in the order of the file, whatever times they say.
 *  2. What is asked for is bounded, and so is what comes: at most ADP_EXCERPT_MOST lines,
 *     the first ADP_EXCERPT_TEXT bytes of each.
 *  3. A line that cannot be read is shown as it is, as far as it is text. */
#ifndef ADP_ANALYSIS_EXCERPT_H
#define ADP_ANALYSIS_EXCERPT_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ADP_EXCERPT_MOST = 200, ADP_EXCERPT_TEXT = 8192 };

enum adp_excerpt_of {
    ADP_EXCERPT_ANY,
    ADP_EXCERPT_DECISIONS,
    ADP_EXCERPT_ADMITTED, /* the host was told to: also refusals that were not enforced */
    ADP_EXCERPT_REFUSED,  /* enforced, and the policy's own */
    ADP_EXCERPT_NOT_ENFORCED, /* refusals of the policy's own, shadows' too */
    ADP_EXCERPT_FAULTS,
    ADP_EXCERPT_OUTCOMES,
    ADP_EXCERPT_STATES,
    ADP_EXCERPT_LOSSES,
    ADP_EXCERPT_SCRAPE_ERRORS,
    ADP_EXCERPT_CORRUPT,
    ADP_EXCERPT_OFS
};

/* "any", "decisions", "admitted", …; what pages call them. Static. */
const char *adp_excerpt_word(enum adp_excerpt_of of);
/* False: no such word. */
bool adp_excerpt_find(const char *word, enum adp_excerpt_of *ret);

/* Three ways of asking: around a time (`around`, `at`), around a line (`around`), or the
 * lines of a kind from a line on. */
struct adp_excerpt {
    const char *path;
    bool around;
    double at; /* the line whose time is nearest, the first of several; NaN: not asked */
    uint64_t line; /* from 1 */
    enum adp_excerpt_of of;
    /* Decisions of others are passed over; NULL: of all. */
    const char *policy, *run, *reason;
    uint32_t most; /* 1 to ADP_EXCERPT_MOST */
};

/* {"log", "here", "of", "n", "next", "lines": [{"line", "at", "kind", "why", "text", "cut"}]}:
 * docs/dashboard.md. ADP_ENOENT: no such file; ADP_EIO; ADP_ENOMEM. [any] */
int adp_excerpt_json(const struct adp_excerpt *asked, FILE *to, struct adp_error *err);

#endif
