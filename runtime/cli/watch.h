/* SPDX-License-Identifier: MIT */
/* Watching: pages from a scraper into a runtime, and the policies asked on each.
 *
 *  1. A round with a page is one sample, and one decision of every policy; none is
 *     enforced, there is nobody to enforce it on.
 *  2. A failure is a line of the log, and nothing else: what was there before ages.
 *  3. What was asked for is a sample or a failure, also when the time is over meanwhile. */
#ifndef ADP_RUNTIME_CLI_WATCH_H
#define ADP_RUNTIME_CLI_WATCH_H

#include "runtime/host/host.h"
#include "runtime/scrape/scrape.h"

#include <signal.h>

struct adp_watched {
    uint64_t elapsed_ns;
    uint64_t samples, failures;
    uint64_t passed, slept;        /* as a round's */
    uint64_t why[ADP_SCRAPE_WHYS]; /* failures by reason */
};

struct adp_watch {
    adp_runtime *runtime; /* started */
    struct adp_scraper *scraper;
    const struct adp_clock *clock; /* the scraper's */
    uint64_t for_ns;
    bool decides; /* false: samples only */
    const volatile sig_atomic_t *stop;
    /* What happened, for people. `ctx` is theirs; each may be NULL. */
    void *ctx;
    void (*on_round)(void *ctx, const struct adp_watched *so_far);
    void (*on_failure)(void *ctx, const struct adp_scrape_failure *failure);
    /* Of a target's page that is in force, or of all of them: ADP_SCRAPE_MAX_TARGETS. */
    void (*on_note)(void *ctx, uint32_t target, const struct adp_error *note);
};

/* Watches until the time is over or *stop. Negative: it cannot go on, and err says why;
 * what was recorded until then stands, and *ret is filled in either case. [control] */
int adp_watch_run(const struct adp_watch *watch, struct adp_watched *ret,
                  struct adp_error *err);

#endif
