/* SPDX-License-Identifier: MIT */
/* Generations (core/generation.h): entering one, and calling its policies. */
#include "core/generation.h"

#include <sched.h>

enum { SPINS = 2000 };

/* In `current`: nobody enters. */
static const uint64_t CLOSED = 1ull << 63;

/* Whom we wait for was put off its core in the middle of a call: let it run. */
static void wait_turn(unsigned spins)
{
    if (spins >= SPINS)
        sched_yield();
}

void adp_member_reads_replicas(struct adp_generation *g, struct adp_member *member,
                               uint64_t slots)
{
    member->replica_slots = slots;
    for (uint64_t left = slots; left; left &= left - 1)
        g->replica_signals |= UINT64_C(1) << member->slot_of[__builtin_ctzll(left)];
}

struct adp_generation *adp_generation_find(struct adp_generations *generations,
                                           uint64_t number)
{
    struct adp_generation *g = atomic_load_explicit(
        &generations->table[number % ADP_GENERATIONS], memory_order_acquire);
    return g && g->number == number ? g : NULL;
}

/* The number in force while the gate is open; 0: none. */
static uint64_t open_number(struct adp_generations *generations)
{
    for (unsigned spins = 0;; spins++) {
        uint64_t number =
            atomic_load_explicit(&generations->current, memory_order_acquire);
        if (!(number & CLOSED))
            return number;
        wait_turn(spins);
    }
}

static void leave(struct adp_call *call)
{
    /* Release: our reads are done before the snapshot, or the generation, may go. */
    atomic_store_explicit(&call->snapshot, 0, memory_order_release);
    atomic_store_explicit(&call->generation, 0, memory_order_release);
}

/* Names what the caller found and looks again: false, and no name is left, when that is in
 * force no more. The names are visible before the look (the store of the generation and
 * the look are seq_cst); whoever changes what is in force looks for names afterwards. The
 * snapshot's name goes first, and is looked for behind the generation's: whoever sees the
 * one sees the other. Release there: the lane's reads of the snapshot before are done. */
static bool name(struct adp_call *call, struct adp_generations *generations,
                 uint64_t number, _Atomic uint64_t *current, uint64_t snapshot)
{
    atomic_store_explicit(&call->snapshot, snapshot, memory_order_release);
    atomic_store_explicit(&call->generation, number, memory_order_seq_cst);
    if (atomic_load_explicit(&generations->current, memory_order_seq_cst) == number &&
        (!current || atomic_load_explicit(current, memory_order_seq_cst) == snapshot))
        return true;
    leave(call);
    return false;
}

struct adp_generation *adp_generation_enter(const struct adp_region *region,
                                            uint32_t lane,
                                            struct adp_generations *generations)
{
    struct adp_call *call = adp_region_call(region, lane);
    for (;;) {
        uint64_t number = open_number(generations);
        if (!number)
            return NULL;
        if (name(call, generations, number, NULL, 0))
            return adp_generation_find(generations, number);
    }
}

struct adp_generation *adp_generation_enter_on(const struct adp_region *region,
                                               uint32_t lane,
                                               struct adp_generations *generations,
                                               const struct adp_snapshot **ret_snapshot)
{
    struct adp_call *call = adp_region_call(region, lane);
    for (;;) {
        uint64_t number = open_number(generations);
        if (!number)
            return NULL;
        _Atomic uint64_t *current = adp_region_current(region, number);
        uint64_t snapshot = atomic_load_explicit(current, memory_order_acquire);
        if (!name(call, generations, number, current, snapshot))
            continue;
        *ret_snapshot =
            snapshot ? adp_region_snapshot(region, (uint32_t)snapshot - 1) : NULL;
        return adp_generation_find(generations, number);
    }
}

void adp_generation_leave(const struct adp_region *region, uint32_t lane)
{
    leave(adp_region_call(region, lane));
}

void adp_generation_add(struct adp_generations *generations, struct adp_generation *g)
{
    /* Release: it is whole before anybody finds it. */
    atomic_store_explicit(&generations->table[g->number % ADP_GENERATIONS], g,
                          memory_order_release);
}

void adp_generation_remove(struct adp_generations *generations, uint64_t number)
{
    atomic_store_explicit(&generations->table[number % ADP_GENERATIONS], NULL,
                          memory_order_release);
}

void adp_generation_switch(struct adp_generations *generations, uint64_t number)
{
    atomic_store_explicit(&generations->current, number, memory_order_seq_cst);
}

void adp_generation_close(struct adp_generations *generations)
{
    atomic_fetch_or_explicit(&generations->current, CLOSED, memory_order_seq_cst);
}

void adp_generation_open(struct adp_generations *generations)
{
    atomic_fetch_and_explicit(&generations->current, ~CLOSED, memory_order_seq_cst);
}

uint32_t adp_generation_named(const struct adp_region *region, uint64_t number)
{
    uint32_t lanes = adp_region_shape(region)->lanes;
    for (uint32_t lane = 1; lane <= lanes; lane++) {
        struct adp_call *call = adp_region_call(region, lane);
        if (atomic_load_explicit(&call->generation, memory_order_seq_cst) == number)
            return lane;
    }
    return 0;
}

uint64_t adp_generation_waiting(const struct adp_region *region, uint64_t number)
{
    uint64_t waiting = 0, lanes = adp_region_shape(region)->lanes;
    for (uint32_t lane = 0; lane <= lanes; lane++) {
        struct adp_call *call = adp_region_call(region, lane);
        /* Nobody takes any more. Acquire: what was settled has been delivered, and only
         * grows, so a sum of 0 is one. */
        waiting += atomic_load_explicit(&call->taken[number % ADP_GENERATIONS],
                                        memory_order_relaxed);
        waiting -= atomic_load_explicit(&call->settled[number % ADP_GENERATIONS],
                                        memory_order_acquire);
    }
    return waiting;
}

static void member_lock(struct adp_member *m)
{
    for (unsigned spins = 0;; spins++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_weak_explicit(
                &m->busy, &free, 1, memory_order_acquire, memory_order_relaxed))
            return;
        wait_turn(spins);
    }
}

static void member_unlock(struct adp_member *m)
{
    atomic_store_explicit(&m->busy, 0, memory_order_release);
}

void adp_member_decide(struct adp_member *member, const struct adp_view *view,
                       struct adp_verdict *verdict)
{
    const struct adp_policy *policy = member->policy;
    bool serial = policy->threading == ADP_SERIAL;
    if (serial)
        member_lock(member);
    policy->decide(member->self, view, verdict);
    if (serial)
        member_unlock(member);
}

void adp_member_outcome(struct adp_member *member, const struct adp_outcome *outcome)
{
    while (member->heir)
        member = member->heir;
    const struct adp_policy *policy = member->policy;
    if (!policy->outcome || member->quarantined)
        return;
    bool serial = policy->threading == ADP_SERIAL;
    if (serial)
        member_lock(member);
    policy->outcome(member->self, outcome);
    if (serial)
        member_unlock(member);
}

uint64_t adp_member_save(struct adp_member *member, void *to, uint64_t cap)
{
    const struct adp_policy *policy = member->policy;
    if (!policy->save || !member->self || member->quarantined)
        return 0;
    bool serial = policy->threading == ADP_SERIAL;
    if (serial)
        member_lock(member);
    uint64_t n = policy->save(member->self, to, cap);
    if (serial)
        member_unlock(member);
    return n <= cap ? n : 0;
}
