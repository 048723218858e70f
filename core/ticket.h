/* SPDX-License-Identifier: MIT */
/* Tickets: decisions that wait for their outcome.
 *
 * A handle is lane << 56 | slot << 32 | use. Slots of a lane are used in turn; each use
 * of a slot has its own number, so an old handle finds nothing. Uses are counted from a number
 * that the region's instance makes, so one of another region finds nothing but by chance.
 *
 *              take                    claim (any lane)
 *     FREE ───────────► WAITING ───────────────► SETTLING ──► FREE
 *                          └── too old, or next in turn: LOST ──┘
 *
 *  1. Whoever moves WAITING → SETTLING (compare and swap) settles, alone: so each ticket
 *     has exactly one outcome.
 *  2. Only the lane's thread takes; anybody claims.
 *  3. Bounded: at most `tickets` of a lane wait; one more makes the oldest LOST.
 *  4. Every decision of the lane, refusals too, ages its tickets: the oldest first.
 *     What waits is found, by its handle and by its id.
 *  5. Each slot that is taken is counted to its generation before the lane leaves it, and
 *     counted as settled after its outcomes are delivered (adp_generation_waiting).
 *  6. Ids are found by chains through the slots, one per bucket of hashes, the newest turn
 *     first: the index has its head, each slot the turn before it. Only the lane's thread
 *     writes either, and nothing is ever taken out. That suffices:
 *     a. Slots are used again in turn. So while a request waits, no slot of a newer turn is
 *        used again, and the way from the head to it stays as it is, whatever the lane
 *        takes meanwhile. (A slot that is being settled when its turn comes is passed by;
 *        it does not wait, and will not: who claims has compared before.)
 *     b. A slot that is not of the turn that led to it, any more or yet, ends the chain:
 *        by a. nothing that is older waits.
 *     c. What was read while the lane wrote it may lead into another chain; by a. there is
 *        nothing left to be missed then. Each step is to an older turn by less than all
 *        slots, so there are at most as many steps as slots.
 *     d. What is claimed is what was compared: the lane writes only to slots that are FREE,
 *        and a use that is still WAITING when it is claimed was not FREE in between. */
#ifndef ADP_CORE_TICKET_H
#define ADP_CORE_TICKET_H

#include "core/generation.h"
#include "core/lane.h"

#define ADP_TICKET_NO_SLOT                                                               \
    0xffffffu /* in a handle: nothing waits, the number is only a name */

/* Has on its way what adp_ticket_take will look up for this id. [hot], the lane's thread. */
void adp_ticket_foresee(const struct adp_lane *lane, const struct adp_name *id);

/* Takes a slot for a request that runs; `tickets` are the policies' (0: none set).
 * Returns its handle. Also gives up waiting slots that are too old. [hot], the lane's
 * thread. */
uint64_t adp_ticket_take(struct adp_lane *lane, struct adp_generations *generations,
                         const struct adp_generation *generation,
                         const struct adp_name *id,
                         const uint64_t tickets[ADP_MAX_POLICIES], uint64_t now_ns);
/* A handle for a request that does not run: unique, nothing waits for it. Gives up old
 * slots as well: a policy that refuses everything until its tickets come back would never
 * see them otherwise. [hot], the lane's thread. */
uint64_t adp_ticket_unslotted(struct adp_lane *lane, struct adp_generations *generations,
                              uint64_t now_ns);

/* Settles the request of `handle`, or, when it is 0, of `id`: returns each policy its
 * ticket. On success *ret_handle is its handle and `ret_id` its request id. ADP_ENOENT:
 * nothing waits. [hot], any lane. */
int adp_ticket_settle(struct adp_lane *lane, struct adp_generations *generations,
                      uint64_t handle, const struct adp_name *id,
                      const struct adp_outcome *outcome, uint64_t *ret_handle,
                      struct adp_name *ret_id);

/* Settles as LOST what waits on a lane, everything or what is of one generation; returns
 * how many. [control] */
uint64_t adp_ticket_lose_all(struct adp_region *region, uint32_t lane,
                             struct adp_generations *generations, uint64_t now_ns);
uint64_t adp_ticket_lose_generation(struct adp_region *region, uint32_t lane,
                                    struct adp_generations *generations, uint64_t number,
                                    uint64_t now_ns);

/* What waits on a lane, handed over to another generation (core/recover.h); returns how
 * many. [control], nobody else is in the region. */
uint64_t adp_ticket_inherit(const struct adp_region *region, uint32_t lane,
                            const struct adp_generation *generation, uint64_t before,
                            const uint64_t saved_ns[ADP_MAX_POLICIES]);
/* Where the lane goes on: slots in turn, numbers that were not given out yet. [control] */
void adp_ticket_resume(struct adp_lane *lane);

#endif
