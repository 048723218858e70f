/* SPDX-License-Identifier: MIT */
/* Tickets: decisions that wait for their outcome.
 *
 * A handle is lane << 56 | slot << 32 | use. Slots of a lane are used in turn; each use
 * of a slot has its own number, so an old handle finds nothing. Uses are counted from a number
 * that the region's instance makes, so one of another region finds nothing but by chance.
 *
 *              take                    claim (any lane)
 *     FREE ───────────► WAITING ───────────────► SETTLING ──► FREE
 *                          └── too old, or too many wait: LOST ──┘
 *
 *  1. Whoever moves WAITING → SETTLING (compare and swap) settles, alone: so each ticket
 *     has exactly one outcome.
 *  2. Only the lane's thread takes; anybody claims.
 *  3. Bounded: at most `tickets` of a lane wait. When the turn comes to a slot that waits,
 *     the lane leaves it, links it again as the newest of its chain, under this turn, and
 *     goes on to the next. Each admission gains ADP_TICKET_STEPS such steps, of which as many
 *     as slots are kept; without one the slot at hand is LOST and taken. So nothing is LOST
 *     before its time while each time around finds a slot that is free for 64 that wait,
 *     however many requests come and go; 63 of 64 slots may wait for good. Once a whole time
 *     around has found none free (nobody tells outcomes, say), nothing is gained until one
 *     is: to go past those that wait would only choose another to be LOST.
 *  4. Every decision of the lane, refusals too, ages its tickets: a cursor follows the
 *     turns, and stops at the first that may still wait. Those that were linked again are
 *     older than their turn says: once one of them is too old, all slots are looked at, some
 *     at each decision. What waits is found, by its handle and by its id.
 *  5. Each slot that is taken is counted to its generation before the lane leaves it, and
 *     counted as settled after its outcomes are delivered (adp_generation_waiting).
 *  6. Ids are found by chains through the slots, one per bucket of hashes, the newest turn
 *     first: the index has its head, each slot the turn before it. A turn's slot is that of
 *     its lowest bits. Only the lane's thread writes either, and nothing is ever taken out.
 *     That suffices:
 *     a. Turns come in order, and a slot is taken or linked again at its turn only. So while
 *        a request waits under a turn, no slot of a newer turn is touched, and the way from
 *        the head to it stays as it is, whatever the lane takes meanwhile. (A slot that is
 *        being settled when its turn comes is passed by; it does not wait, and will not: who
 *        claims has compared before.)
 *     b. When a slot is touched, everything older in its chain was passed before: linked
 *        again, nearer to the head, or gone. So a slot that is not of the turn that led to
 *        it, any more or yet, ends the chain as far as it was there when the walk began.
 *     c. What was linked again since then is newer than the head that the walk began with.
 *        So who finds nothing looks at the head once more, and, when it is another, walks
 *        from there as far as to the one before. Whoever sees a slot's new turn, or where it
 *        leads, sees the heads of all that was linked before (release, acquire). Each such
 *        walk is of what the lane linked during the one before; after WALKS of them, which
 *        the lane would have to outrun each time, it gives up.
 *     d. What was read while the lane wrote it may lead into another chain; by b. there is
 *        nothing left to be missed then. Each step is to an older turn, by less than all
 *        slots together, so there are at most as many steps as slots, and no way around in a
 *        circle. The id is compared before the turns are: a slot that is linked again while
 *        a walk comes to it is found all the same.
 *     e. What is claimed is what was compared: of a slot that is not FREE the lane writes
 *        only turn and older, and a use that is still WAITING when it is claimed was not
 *        FREE in between. */
#ifndef ADP_CORE_TICKET_H
#define ADP_CORE_TICKET_H

#include "core/generation.h"
#include "core/lane.h"

#define ADP_TICKET_NO_SLOT                                                               \
    0xffffffu /* in a handle: nothing waits, the number is only a name */
#define ADP_TICKET_STEPS 64u

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
