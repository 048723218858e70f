/* SPDX-License-Identifier: MIT */
/* A generation: what one configuration made. Its policies with their instances and
 * parameters, the enforced share, the signals. The first policy governs, the others are
 * shadows: asked, recorded, never obeyed.
 *
 * How one takes over from another, under traffic:
 *
 *        enter, decide                 nobody inside, no ticket waits
 *     IN FORCE ─────────► another in force ─────────► gone
 *
 *  1. A lane names the generation in force in its call slot, then looks again whether it
 *     is in force still (both seq_cst), and starts over if not. Whoever changes `current`
 *     looks at the call slots afterwards. So once no slot names a generation that is not
 *     in force, no lane is inside it, and none will be. The same store names the snapshot
 *     that the lane decides on (core/snapshot.h, 2).
 *  2. A generation is immutable while a call slot names it. Decisions are made, and
 *     tickets set, in the generation in force only.
 *  3. It stays in the table as long as tickets of it wait: their outcomes go to its
 *     members. Older ones go first, so that what a member names as its heir is there.
 *  4. A member's state moves to another instance while nobody is inside: the control
 *     thread closes the gate (lanes wait at enter, deciding and settling), waits until no
 *     slot names the generation, moves, and opens. The heir gets all further outcomes:
 *     each call on the member before is over, each call on the heir comes after. A gate
 *     that is closed in vain is opened again, and nothing has changed.
 *  5. Without state to move there is no gate, and nobody waits. */
#ifndef ADP_CORE_GENERATION_H
#define ADP_CORE_GENERATION_H

#include "core/reason.h"
#include "core/region.h"
#include "core/signal.h"

#include <admitperf/policy.h>

struct adp_member {
    /* Taken around decide and outcome of a SERIAL policy; held for one call. */
    _Alignas(ADP_LINE_BYTES) _Atomic uint32_t busy;
    _Alignas(ADP_LINE_BYTES) const struct adp_policy *policy; /* borrowed */
    void *self;
    const double *param;               /* by place; borrowed */
    uint32_t slot_of[ADP_MAX_SIGNALS]; /* policy's slot → index in the set */
    uint64_t replica_slots;            /* bit i: slot i is read per replica */
    bool reject_on_error;
    uint32_t tally; /* which of the lanes' tallies counts its verdicts */
    bool
        quarantined; /* not asked, no outcomes: the fault is recorded, the answer admit */
    struct adp_member *heir; /* has its state, gets its outcomes; NULL: none */
};

struct adp_generation {
    uint32_t number; /* from 1 */
    uint32_t n_members, n_signals;
    double enforce;   /* [0, 1]: share of requests that are governed */
    const char *salt; /* of the split */
    size_t salt_len;
    enum adp_profile profile;
    uint64_t ticket_ns; /* an outcome later than this is LOST */
    const struct adp_signals *signals;
    uint64_t replica_signals; /* bit i: some member reads signal i per replica */
    struct adp_member member[ADP_MAX_POLICIES];
};

/* The generations of one runtime, found by number. Written by the control thread. */
struct adp_generations {
    _Atomic uint64_t current; /* number in force, with the gate's bit; 0: none */
    _Atomic(struct adp_generation *) table[ADP_GENERATIONS]; /* by number % …; NULL */
};

/* Says which slots of a bound member are read per replica, and adds their signals to the
 * generation's. [control] */
void adp_member_reads_replicas(struct adp_generation *g, struct adp_member *member,
                               uint64_t slots);

/* Generation by number, or NULL when it is gone. It is there when the caller's call slot
 * names it, when the caller has claimed one of its tickets, or is the control thread.
 * [hot] */
struct adp_generation *adp_generation_find(struct adp_generations *generations,
                                           uint64_t number);

/* Names the generation in force in the lane's call slot and returns it, NULL when there is
 * none. Until adp_generation_leave it stays as it is. Waits while the gate is closed.
 * [hot] */
struct adp_generation *adp_generation_enter(const struct adp_region *region,
                                            uint32_t lane,
                                            struct adp_generations *generations);
/* The same, and its snapshot in force, NULL when there is none yet: until
 * adp_generation_leave that stays as it is too. [hot] */
struct adp_generation *adp_generation_enter_on(const struct adp_region *region,
                                               uint32_t lane,
                                               struct adp_generations *generations,
                                               const struct adp_snapshot **ret_snapshot);
void adp_generation_leave(const struct adp_region *region, uint32_t lane);

/* [control] Puts a generation in the table, in the place that number % ADP_GENERATIONS
 * gives, or takes one that is over out of it. */
void adp_generation_add(struct adp_generations *generations, struct adp_generation *g);
void adp_generation_remove(struct adp_generations *generations, uint64_t number);
/* [control] Puts one in force; the gate is open then. */
void adp_generation_switch(struct adp_generations *generations, uint64_t number);
/* [control] The gate: closed, nobody enters. Who is inside already stays. */
void adp_generation_close(struct adp_generations *generations);
void adp_generation_open(struct adp_generations *generations);
/* [control] The first lane whose call slot names it; 0: none does. */
uint32_t adp_generation_named(const struct adp_region *region, uint64_t number);
/* [control] Tickets of it that wait; exact once it is not in force and not named. */
uint64_t adp_generation_waiting(const struct adp_region *region, uint64_t number);

/* Calls a policy's decide or outcome, one thread at a time if it is SERIAL. An outcome
 * goes to the heir, if there is one. [hot] */
void adp_member_decide(struct adp_member *member, const struct adp_view *view,
                       struct adp_verdict *verdict);
void adp_member_outcome(struct adp_member *member, const struct adp_outcome *outcome);
/* Calls save, apart from the calls above if the policy is SERIAL: bytes written, 0: none, or
 * it has no save. [control] */
uint64_t adp_member_save(struct adp_member *member, void *to, uint64_t cap);

#endif
