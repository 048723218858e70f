/* SPDX-License-Identifier: MIT */
/* Scraping: pages of metrics from where engines show them, one text for the runtime.
 *
 * Pull: whoever owns the scraper calls adp_scraper_step in a loop, in a thread of its own
 * if others must not wait; each step gives at most one round. A round is what was asked
 * for together: it ends when all of it has come or failed, or, if something has, after
 * nine tenths of the shortest interval; what comes later belongs to the next.
 *
 *  1. An absolute schedule (schedule.h): no drift, no burst after a stall; a target that
 *     has not answered yet is not asked again.
 *  2. A page is whole or it is not used, but for one whose last line has no newline: what
 *     may lack a line is left out (ending.h). What went wrong is named (why.h), never a zero,
 *     and never an empty page.
 *  3. Of several targets the round's page holds every series with a label `target`, stamped
 *     with its own time or else with the time its target's page came. One that fails,
 *     that cannot be read, or is not due, is held: its last page stays with its time, so that it ages like
 *     any. After three intervals, and 5 s at least, it is gone until it answers. Of a single
 *     target nothing is held: no page, no round's page.
 *  4. No secret (bearer token, user, password, query) is in any text that comes out.
 *  5. Memory: 16 MiB of page for each target, and what was read of it; of a pool, of two. */
#ifndef ADP_SCRAPE_SCRAPE_H
#define ADP_SCRAPE_SCRAPE_H

#include "core/clock.h"
#include "core/error.h"
#include "runtime/scrape/address.h"
#include "runtime/scrape/left.h"
#include "runtime/scrape/wire.h"

#define ADP_SCRAPE_MAX_TARGETS 64u

/* One page. Strings are borrowed for the life of the scraper. */
struct adp_scrape_target {
    const char *name; /* what texts and the label `target` call it; NULL: its address, and
                         either as core/veil.h shows it, "#2" behind the second of those
                         that are shown alike */
    const char *url;  /* address.h */
    uint64_t interval_ns, timeout_ns; /* both above 0; a timeout may exceed the interval:
                                         slots are passed over while it is waited for */
    const char *bearer_file;          /* token, read anew each time; NULL: none */
    const char *ca_file;              /* who may have signed its certificate; NULL: the
                                         system's */
    const char *cert_file, *key_file; /* ours; NULL: none */
    bool insecure;                    /* take any certificate */
};

struct adp_scrape_options {
    const struct adp_clock *clock; /* NULL: the machine's */
    const struct adp_wire *wire;   /* NULL: libcurl. Both borrowed */
};

struct adp_scrape_failure {
    uint32_t target;
    enum adp_scrape_why why;
    char text[400]; /* "NAME: WORD: sentence", as the log has it */
};

struct adp_scrape_round {
    const char *page; /* the text to publish; NULL: nothing came. Borrowed until the next
                         step */
    size_t len;
    enum adp_promtext_format format; /* what `page` is to be read as */
    uint32_t fresh, held, gone;      /* targets: on the page anew, held, not on it */
    uint64_t came;                   /* bit i: target i is on it anew */
    const struct adp_scrape_failure *failures; /* as page */
    uint32_t n_failures;
    const struct adp_scrape_left *left; /* of each target's page that came, what is not on
                                           it; all zero for the others. As page */
    uint32_t bad_lines, cut_lines;      /* of them all */
    uint64_t passed; /* slots passed over since the first round, of all targets */
    uint64_t slept;  /* of these, due while nobody stepped or the machine slept */
};

/* How long the last page of a pool's target is held when it fails. [any] */
uint64_t adp_scrape_held_ns(uint64_t interval_ns);

struct adp_scraper;

/* ADP_EINVAL: no target, more than 64, an address that is none, a cert without its key;
 * ADP_ENOMEM; ADP_EIO. Nothing is asked before the first step, which is when the first
 * slots are due. [control] */
int adp_scraper_create(struct adp_scraper **ret, const struct adp_scrape_target *targets,
                       uint32_t n, const struct adp_scrape_options *options,
                       struct adp_error *err);
void adp_scraper_destroy(struct adp_scraper *scraper);

/* Does what is due, and waits at most `wait_ns` for a round. True: *ret is one. False: no
 * round within that time, or woken. [control] */
bool adp_scraper_step(struct adp_scraper *scraper, uint64_t wait_ns,
                      struct adp_scrape_round *ret);
/* The last one: asks for nothing more, waits at most `wait_ns` for what was asked for, and ends
 * the round. What has not come by then is a failure of it: unfinished. False: there is no
 * round. Afterwards there are no steps. [control] */
bool adp_scraper_end(struct adp_scraper *scraper, uint64_t wait_ns,
                     struct adp_scrape_round *ret);
/* Ends a waiting step early. [any] */
void adp_scraper_wake(struct adp_scraper *scraper);

/* What texts call it; borrowed. */
const char *adp_scraper_name(const struct adp_scraper *scraper, uint32_t target);

/* What is to be said of a target's page in a round that was published (`published`: what that
 * noted; code 0: nothing), or of all of them together, ADP_SCRAPE_MAX_TARGETS. A single page is
 * the one that was published, so its bad lines are among what that noted; of several, the joined
 * page has none of them. True: there is something, in *ret, whose `file` is the page's name unless
 * it had one. [control] */
bool adp_scraper_note(const struct adp_scraper *scraper,
                      const struct adp_scrape_round *round, uint32_t target,
                      const struct adp_error *published, struct adp_error *ret);

#endif
