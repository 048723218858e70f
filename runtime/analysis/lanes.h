/* SPDX-License-Identifier: MIT */
/* Which records of which writer are here, and which are missing.
 *
 * Every writer (instance, lane) numbers its records from 0 without gaps. What is missing
 * below the highest number seen is lost; `dropped` lines account for losses; what is left
 * is an unrecorded loss. Lines may come in any order and twice. A snapshot stands again
 * at the head of every file that follows, under its old number: it fills its place in the
 * numbering, and says nothing of copies. */
#ifndef ADP_ANALYSIS_LANES_H
#define ADP_ANALYSIS_LANES_H

#include "runtime/analysis/index.h"

struct adp_lanes {
    struct adp_lane_seen *lanes; /* owned */
    size_t n, cap;
    struct adp_index by_key;
    uint64_t loose;   /* records dropped of a lane, or at a place, that no line names */
    uint64_t damaged; /* queues given up; how many records that cost is not known */
};

struct adp_lanes_loss {
    uint64_t recorded;   /* records that `dropped` lines account for */
    uint64_t unrecorded; /* records missing beyond those */
    uint64_t repeated;   /* records that are here more than once */
    uint64_t damaged;
};

void adp_lanes_finish(struct adp_lanes *lanes);
/* The writer's record `seq` is here. `instance` is a hash, 0 when the line names none.
 * `again`: it may rightly stand in several files. 0 or ADP_ENOMEM. */
int adp_lanes_seen(struct adp_lanes *lanes, uint64_t instance, int64_t lane, int64_t seq,
                   bool again);
/* A `dropped` line: `count` records from `seq` on. lane, seq -1: it does not say. 0 or
 * ADP_ENOMEM. */
int adp_lanes_dropped(struct adp_lanes *lanes, uint64_t instance, int64_t lane,
                      int64_t seq, uint64_t count);
/* Adds all of `from`, which stays as it is. 0 or ADP_ENOMEM. */
int adp_lanes_merge(struct adp_lanes *into, const struct adp_lanes *from);
struct adp_lanes_loss adp_lanes_loss(struct adp_lanes *lanes);
/* Does some writer's record stand in both, snapshots apart? Sorts both. */
bool adp_lanes_overlap(struct adp_lanes *a, struct adp_lanes *b);
/* Puts what is here in order and together: for asking. Who stands twice is forgotten. */
void adp_lanes_settle(struct adp_lanes *lanes);
/* Is the record here? The lanes are settled; `again` as in adp_lanes_seen. */
bool adp_lanes_hold(const struct adp_lanes *lanes, uint64_t instance, int64_t lane,
                    int64_t seq, bool again);
/* How many records of `lanes` are not in `known`, which is settled: those that can stand in one
 * place only, or with `again` the others. Sorts `lanes`. */
uint64_t adp_lanes_beyond(struct adp_lanes *lanes, const struct adp_lanes *known,
                          bool again);
/* Enters every named writer into `writers`: for telling at once that two have none in common.
 * 0 or ADP_ENOMEM. */
int adp_lanes_enter(const struct adp_lanes *lanes, struct adp_index *writers);
bool adp_lanes_any_entered(const struct adp_lanes *lanes,
                           const struct adp_index *writers);
/* Did some named process write in both? */
bool adp_lanes_share_writer(const struct adp_lanes *a, const struct adp_lanes *b);

#endif
