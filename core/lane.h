/* SPDX-License-Identifier: MIT */
/* A lane: one thread's way into the runtime. It owns one ring of the region, one call
 * slot, one table of tickets, and the working memory that deciding needs, so that
 * deciding shares nothing and allocates nothing. */
#ifndef ADP_CORE_LANE_H
#define ADP_CORE_LANE_H

#include "core/clock.h"
#include "core/metrics.h"
#include "core/region.h"
#include "core/signal.h"

#include <admitperf/runtime.h>

enum {
    ADP_LANE_SERIES = 4096
}; /* series a request's own metrics may have per selector */

/* A string fact as recorded: the host's bytes, or "xxh3:" and 32 hex digits of XXH3-128
 * when they are more than ADP_ID_MAX. */
struct adp_name {
    const char *p; /* NULL: not known */
    uint8_t n;
    char own[ADP_ID_MAX];
};

struct adp_lane {
    struct adp_region *region; /* borrowed */
    const struct adp_clock *clock;
    void *host; /* whoever opened it */
    uint32_t number;
    bool recording;

    uint32_t next_ticket, sweep, unslotted;

    /* Metrics given with a request: these, those of a moment before, and their readings.
     */
    struct adp_metrics *now, *before;
    bool has_before;
    uint64_t before_ns;
    struct adp_scratch *scratch;
    struct adp_reading readings[ADP_MAX_KNOWN];

    /* Counted by the lane's thread, read by anybody. */
    _Atomic uint64_t decisions, outcomes, faults, lost_tickets;
};

/* Prepares a lane of the region, which goes on where another writer of it ended. ADP_ENOMEM. [control] */
int adp_lane_create(struct adp_lane **ret, struct adp_region *region, uint32_t number,
                    const struct adp_clock *clock, bool recording, struct adp_error *err);
void adp_lane_destroy(struct adp_lane *lane);

/* The text as it is recorded, and as a policy gets it: itself, or, where a line could not
 * hold it whole (above ADP_ID_MAX bytes, not UTF-8), "xxh3:" and its XXH3-128 in
 * hexadecimal. `text` may be NULL. [hot] */
void adp_name_set(struct adp_name *name, const char *text);

/* Reads the signals from metrics given with a request; counters grow against the metrics
 * of at least a second before, given on this lane. [hot] */
void adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                   const struct adp_metrics *metrics, uint64_t mono_ns, uint64_t wall_ns);

/* Keeps `now` as the moment before, once the one kept is a second old. [hot] */
void adp_lane_keep(struct adp_lane *lane, uint64_t mono_ns);

/* Raw series in a record, decoded by adp_lane_decode into `metrics` (cleared first).
 * Encode returns the bytes needed and writes only if `cap` holds them; a multiple of 8.
 * Decode returns ADP_ESYNTAX when the bytes are not whole. */
size_t adp_lane_encode(const struct adp_metrics *metrics, uint8_t *to, size_t cap);
int adp_lane_decode(const uint8_t *from, size_t len, struct adp_metrics *metrics);

/* Appends an outcome record. [hot] */
void adp_lane_put_outcome(struct adp_lane *lane, uint64_t id,
                          const struct adp_name *request,
                          const struct adp_result *result);

#endif
