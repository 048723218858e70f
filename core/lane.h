/* SPDX-License-Identifier: MIT */
/* A lane: one thread's way into the runtime. It owns one ring of the region, one call
 * slot, one table of tickets, and the working memory that deciding needs, so that
 * deciding shares nothing and allocates nothing. */
#ifndef ADP_CORE_LANE_H
#define ADP_CORE_LANE_H

#include "core/clock.h"
#include "core/metrics.h"
#include "core/region.h"
#include "core/sheet.h"
#include "core/signal.h"

#include <admitperf/runtime.h>

enum {
    ADP_LANE_SERIES = 4096
}; /* series a request's own metrics may have per selector */

/* A string fact as recorded: the host's bytes, or "xxh3:" and 32 hex digits of XXH3-128
 * when they are more than ADP_ID_MAX. */
struct adp_name {
    const char *p; /* NULL: not known; else `own` */
    uint8_t n;
    uint64_t hash; /* XXH3-64 of the text as recorded; 0 when not known */
    /* Zeros behind the text: whoever copies ADP_ID_MAX bytes, which costs less than to copy
     * n, copies nothing else of ours. */
    char own[ADP_ID_MAX + 1];
};

/* Verdicts of a policy, counted: [0] faults, else its action; by reason (0: none, the last:
 * policy_error); [1] those that were enforced. */
#define ADP_TALLIES       24u
#define ADP_TALLY_ACTIONS 4u
#define ADP_TALLY_REASONS 12u
struct adp_tally {
    _Atomic uint64_t n[ADP_TALLY_ACTIONS][ADP_TALLY_REASONS][2];
};

/* Readings per replica of the request at hand: in the columns that some policy reads, and
 * as one policy's view has them. */
struct adp_lane_replicas {
    struct adp_replicas seen;
    double value[ADP_MAX_REPLICAS * ADP_MAX_SIGNALS];
    uint64_t present[ADP_MAX_REPLICAS];
};

struct adp_lane {
    struct adp_region *region; /* borrowed */
    const struct adp_clock *clock;
    void *host; /* whoever opened it */
    uint32_t number;
    bool recording;

    /* Its own places in the region. */
    struct adp_call *call;
    struct adp_ticket_slot *tickets;
    _Atomic uint32_t *index;
    uint32_t ticket_mask;

    uint32_t next_ticket, sweep, unslotted;
    uint32_t steps;     /* slots that wait and may be passed by before one is given up */
    uint32_t free_turn; /* of the slot that was found free last */
    uint32_t round;     /* the look at all slots: where it is */
    uint64_t overdue_ns, round_ns; /* it begins when the first is over; the next one's */
    uint32_t first_use;            /* in handles, uses are counted from here */

    uint64_t wall_ns,
        wall_at_ns; /* the wall clock, when it was read last, and when (mono) */

    /* A replay's, set by whoever owns the lane: the draw that was recorded stands in place
     * of the split's. */
    bool has_draw;
    double draw;
    /* Likewise: what is in replicas->seen stands in place of what metrics given with the
     * request, or the snapshot, tell. */
    bool has_replicas;
    struct adp_lane_replicas *replicas;
    /* The same: signals that were read before stand in place of the snapshot's, by index in
     * the generation's set; with no metrics given. NULL: none do. */
    const double *values;
    uint64_t values_present;

    /* Metrics given with a request: these, those of a moment before, and their readings.
     * `given` is the sheet of `now` while it is known to describe them; NULL: not known. */
    struct adp_sheet sheet[2], *given;
    struct adp_metrics *now, *before;
    bool has_before;
    uint64_t before_ns;
    struct adp_scratch *scratch;
    struct adp_reading readings[ADP_MAX_KNOWN];

    /* Counted by the lane's thread, read by anybody. */
    _Atomic uint64_t decisions, outcomes, faults, lost_tickets;
    struct adp_tally tally[ADP_TALLIES];
};

/* Prepares a lane of the region, which goes on where another writer of it ended.
 * ADP_ENOMEM. [control] */
int adp_lane_create(struct adp_lane **ret, struct adp_region *region, uint32_t number,
                    const struct adp_clock *clock, bool recording, struct adp_error *err);
void adp_lane_destroy(struct adp_lane *lane);

/* Wall time at `mono_ns`, just read: a lane reads the wall clock once a millisecond and goes
 * on with the monotonic one in between, so that a clock that is set shows within one. [hot] */
static inline uint64_t adp_lane_wall(struct adp_lane *lane, uint64_t mono_ns)
{
    enum { AGAIN_NS = 1000000 };
    /* A difference below 0 is a large one. */
    if (mono_ns - lane->wall_at_ns >= AGAIN_NS) {
        lane->wall_ns = lane->clock->wall_ns(lane->clock->ctx);
        lane->wall_at_ns = mono_ns;
    }
    return lane->wall_ns + (mono_ns - lane->wall_at_ns);
}

/* The text as it is recorded, and as a policy gets it: itself, or, where a line could not
 * hold it whole (above ADP_ID_MAX bytes, not UTF-8), "xxh3:" and its XXH3-128 in
 * hexadecimal. `text` may be NULL. Returns the length of the text. [hot] */
size_t adp_name_set(struct adp_name *name, const char *text);

/* The sheet of `now`, to be filled for the next request, which forgets it. [hot] */
struct adp_sheet *adp_lane_sheet(struct adp_lane *lane);

/* Reads the signals from metrics given with a request; counters grow against the metrics
 * of at least a second before, given on this lane. `bound`: their sources, if known; or
 * NULL. [hot] */
void adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                   const struct adp_bound *bound, const struct adp_metrics *metrics,
                   uint64_t mono_ns, uint64_t wall_ns);

/* Reads those of the signals (bit i: signal i) per replica into replicas->seen; no rows when
 * the metrics tell of no replica, or of too many. [hot] */
void adp_lane_read_replicas(struct adp_lane *lane, const struct adp_signals *set,
                            uint64_t signals, const struct adp_bound *bound,
                            const struct adp_metrics *metrics, uint64_t mono_ns,
                            uint64_t wall_ns);

/* Keeps `now` as the moment before, once the one kept is a second old. [hot] */
void adp_lane_keep(struct adp_lane *lane, uint64_t mono_ns);

/* Raw series in a record, decoded by adp_lane_decode into `metrics` (cleared first).
 * Encode returns the bytes needed and writes only if `cap` holds them; a multiple of 8.
 * Decode returns ADP_ESYNTAX when the bytes are not whole, ADP_ENOMEM. */
size_t adp_lane_encode(const struct adp_metrics *metrics, uint8_t *to, size_t cap);
/* Whether a series goes into a record: its name and labels are below 64 KiB each. Encode
 * leaves out those that do not. */
bool adp_lane_packs(const struct adp_series *series);
/* Bytes of the first of packed series, of which its value, a double, is the first; 0 when
 * they are not whole. */
size_t adp_lane_step(const uint8_t *from, size_t left);
int adp_lane_decode(const uint8_t *from, size_t len, struct adp_metrics *metrics);

/* Appends an outcome record. [hot] */
void adp_lane_put_outcome(struct adp_lane *lane, uint64_t id,
                          const struct adp_name *request,
                          const struct adp_result *result);

#endif
