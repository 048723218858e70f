/* SPDX-License-Identifier: MIT */
/* Generations (core/generation.h): entering one, and calling its policies. */
#include "core/generation.h"

#include <sched.h>

enum { SPINS = 2000 };

struct adp_generation *adp_generation_find(struct adp_generations *generations,
                                           uint64_t number)
{
    struct adp_generation *g = generations->table[number % ADP_GENERATIONS];
    return g && g->number == number ? g : NULL;
}

struct adp_generation *adp_generation_enter(const struct adp_region *region,
                                            uint32_t lane,
                                            struct adp_generations *generations)
{
    struct adp_call *call = adp_region_call(region, lane);
    uint64_t number = atomic_load_explicit(&generations->current, memory_order_acquire);
    for (;;) {
        if (!number)
            return NULL;
        /* Our name is visible before we look again; whoever retires a generation changes
         * `current` and then looks for names. */
        atomic_store_explicit(&call->generation, number, memory_order_seq_cst);
        uint64_t again =
            atomic_load_explicit(&generations->current, memory_order_seq_cst);
        if (again == number)
            return adp_generation_find(generations, number);
        number = again;
    }
}

void adp_generation_leave(const struct adp_region *region, uint32_t lane)
{
    struct adp_call *call = adp_region_call(region, lane);
    /* Release: our reads are done before the generation may go. */
    atomic_store_explicit(&call->generation, 0, memory_order_release);
}

static void member_lock(struct adp_member *m)
{
    for (unsigned spins = 0;; spins++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_weak_explicit(
                &m->busy, &free, 1, memory_order_acquire, memory_order_relaxed))
            return;
        /* The holder was put off its core in the middle of a call: let it run. */
        if (spins >= SPINS)
            sched_yield();
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
    const struct adp_policy *policy = member->policy;
    if (!policy->outcome)
        return;
    bool serial = policy->threading == ADP_SERIAL;
    if (serial)
        member_lock(member);
    policy->outcome(member->self, outcome);
    if (serial)
        member_unlock(member);
}
