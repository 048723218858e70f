/* SPDX-License-Identifier: MIT */
/* The drain: records out of a region's rings, lines of the log in return.
 *
 * One consumer for all rings; the same function whether it runs as a thread beside the
 * writers or in a supervisor that outlives them. It trusts nothing it reads: each record
 * is copied out first and each length in it held against its size; a ring that breaks its
 * contract is abandoned and said so in a line.
 *
 *  1. Lines come in the order of what they refer to: a decision after the snapshot and the
 *     words it names, and, but for one that was being made while they were published,
 *     before the next ones. The control lane advances by one record when every other lane
 *     is at its end or names what is still in there. What was lost on the way into the
 *     control lane is not waited for.
 *  2. A gap in a lane's numbers becomes one `dropped` line with the exact count, in its
 *     place.
 *  3. Lines are whole or absent: out of memory leaves the record in the ring.
 *  4. No lane starves: each run begins with another one. */
#ifndef ADP_CORE_DRAIN_H
#define ADP_CORE_DRAIN_H

#include "core/line.h"
#include "core/region.h"

struct adp_drain;

struct adp_drained {
    uint64_t lines;   /* written so far */
    uint64_t dropped; /* records accounted for in `dropped` lines */
    uint64_t damaged; /* rings abandoned */
};

/* `inline_metrics`: every decision carries the raw metrics of its snapshot. ADP_ENOMEM.
 */
int adp_drain_create(struct adp_drain **ret, const struct adp_region *region,
                     bool inline_metrics, struct adp_error *err);
void adp_drain_destroy(struct adp_drain *drain);

/* Appends lines to `to` until the rings are empty or `to` holds `budget` bytes, then by at
 * most one line more, or up to the next snapshot, which is the first line of a run. True
 * when something may be left. ADP_ENOMEM shows as to->broken: clear it, and call again. */
bool adp_drain_run(struct adp_drain *drain, struct adp_line *to, size_t budget);

/* Appends the losses at the end of each lane that no later record has shown. For the end,
 * when the writers have stopped; `at_ns`: wall clock. */
void adp_drain_end(struct adp_drain *drain, struct adp_line *to, uint64_t at_ns);

/* The line a file starts with: the snapshot in force, the newest that is drained. Empty:
 * none yet. Borrowed until the next run. */
const struct adp_line *adp_drain_opening(const struct adp_drain *drain);
/* Whether the lines of the last run begin with it. */
bool adp_drain_opened(const struct adp_drain *drain);

/* The writers are gone: rings that were abandoned begin anew, empty, and their numbers go on. */
void adp_drain_renew(struct adp_drain *drain);

/* The region's (adp_region_create), which the lines name. */
uint64_t adp_drain_instance(const struct adp_drain *drain);

/* How full the fullest ring is, in percent. */
unsigned adp_drain_fill(const struct adp_drain *drain);

/* Remembers where the rings end now; reached when all before it are lines. */
void adp_drain_mark(struct adp_drain *drain);
bool adp_drain_reached(const struct adp_drain *drain);

/* Records that are neither lines nor accounted for in one: queued, or dropped since. Not those
 * queued that will be no line, a generation's words. */
uint64_t adp_drain_left(const struct adp_drain *drain);

struct adp_drained adp_drain_count(const struct adp_drain *drain);

#endif
