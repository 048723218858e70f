/* SPDX-License-Identifier: MIT */
/* How pages are brought: by libcurl (fetch.h), or by whatever a test puts in its place.
 *
 * A wire serves targets by number, one page at a time for each. */
#ifndef ADP_SCRAPE_WIRE_H
#define ADP_SCRAPE_WIRE_H

#include "core/promtext.h"
#include "runtime/scrape/why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_PAGE_MAX (16u << 20) /* bytes of a page; more is too_big */

/* What became of one asking. */
struct adp_fetched {
    uint32_t target;
    enum adp_scrape_why why;
    char text[256]; /* unless fine: the sentence behind the word, no secrets in it */
    char *page;     /* if fine; borrowed, writable, until this target is asked again */
    size_t len;
    enum adp_promtext_format format; /* as declared by who sent it */
};

struct adp_wire {
    void *ctx;
    /* Asks for a target's page. It is not being asked for already. [control] */
    void (*ask)(void *ctx, uint32_t target);
    /* Waits until something has ended, adp_wire's wake, or `ns`. [control] */
    void (*wait)(void *ctx, uint64_t ns);
    /* The next that has ended, each once; false when there is none. [control] */
    bool (*take)(void *ctx, struct adp_fetched *ret);
    /* Ends a wait, this or the next. [any] */
    void (*wake)(void *ctx);
};

#endif
