/* SPDX-License-Identifier: MIT */
/* Recovery: going on with a region whose writer has died.
 *
 * The region outlives the process that wrote it. Whoever outlives it too records what the
 * lanes were doing (adp_recover_lane); the next writer takes over tickets and the snapshot
 * in force, under a generation of its own (the others here).
 *
 *  1. The writer is gone: nobody else is in the region but the drain.
 *  2. A request that was being decided gets one record with the fault for the policy that
 *     its lane was in, and one for the governing policy if that is another: what it said, if
 *     it had. What that record says is what the host is to be told (adp_recover_told).
 *  3. What lies in the region is bounded before it is used, as the drain does: its writer may
 *     have died of writing to wrong places.
 *  4. A ticket goes to the instance that knows it, or to none: one made from saved state
 *     knows those set before it was saved. */
#ifndef ADP_CORE_RECOVER_H
#define ADP_CORE_RECOVER_H

#include "core/generation.h"
#include "core/lane.h"
#include "core/record.h"
#include "core/snapshot.h"

/* What a lane was doing. */
struct adp_death {
    bool in_policy;              /* in a call of a policy: decide or outcome */
    uint32_t generation, policy; /* which; garbage unless in_policy */
    uint64_t start_ns;           /* of that call, mono; likewise */
    bool has_request; /* a request was being decided, whose records are made now */
    uint32_t records; /* made; less than asked for: the ring is full, and counts */
    bool has_id;
    uint8_t id_len;
    char id[ADP_ID_MAX];
};

/* Records what the lane was doing, and makes it do nothing. `fault`: of what it died when
 * it was in a policy. [control] */
void adp_recover_lane(const struct adp_region *region, uint32_t lane,
                      enum adp_fault fault, uint64_t mono_ns, uint64_t wall_ns,
                      struct adp_death *ret);

/* What adp_recover_lane recorded of the request that the lane was deciding when it had made
 * `records` records, as the host is to be told. False: it recorded none, or of another; *ret is
 * untouched. Whatever stands there, it is a decision that could have been made. [any] */
bool adp_recover_told(const struct adp_region *region, uint32_t lane, uint64_t records,
                      struct adp_decision *ret);

/* Records on a lane of ours a request that was answered by on_error and of which nothing was
 * recorded: its process ended before it was decided, and knew nothing of it that is left. One of
 * which it is not known whether it was governed was not. False: the ring is full, which counts.
 * [hot], the lane's thread */
bool adp_recover_answered(const struct adp_region *region, uint32_t lane,
                          const struct adp_generation *generation, uint64_t mono_ns,
                          uint64_t wall_ns);

/* Hands the tickets that wait over to `generation`, which is not in force yet; `before` is
 * the newest one of the writer before. Its policies are those of `before`, in the same
 * order; saved_ns[i]: when the state was saved that member i was made from, mono, 0: from
 * none. Requests go on waiting for their outcome also when no policy does. Returns how many
 * wait. [control] */
uint64_t adp_recover_tickets(const struct adp_region *region,
                             const struct adp_generation *generation, uint64_t before,
                             const uint64_t saved_ns[ADP_MAX_POLICIES]);

/* Puts the snapshot that was in force for `before` in force for `generation`, whose signals
 * are the same; readings age as they would have. False: there was none. [control] */
bool adp_recover_snapshot(const struct adp_region *region,
                          const struct adp_generation *generation, uint64_t before);

#endif
