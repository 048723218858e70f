/* SPDX-License-Identifier: MIT */
/* Counts (host.h): verdicts by policy over all lanes and reloads, and what waits for the
 * log.
 *
 * Lanes count by number; which number counts whose verdicts is said once, when a policy is
 * first seen, and kept over reloads: a policy that stays goes on counting, and one that
 * took another's place does not count as the other. */
#include "core/reason.h"
#include "runtime/host/state.h"

#include <stdio.h>
#include <string.h>

static uint32_t tally_for(struct adp_runtime *rt, const char *policy, bool shadow)
{
    for (uint32_t i = 0; i < rt->n_tally; i++)
        if (rt->tally_of[i].shadow == shadow &&
            strcmp(rt->tally_of[i].policy, policy) == 0)
            return i;
    bool last = rt->n_tally >= ADP_TALLIES - 1;
    uint32_t at = last ? ADP_TALLIES - 1 : rt->n_tally;
    struct adp_tally_of *of = &rt->tally_of[at];
    of->shadow = shadow && !last;
    snprintf(of->policy, sizeof of->policy, "%s", last ? "other" : policy);
    rt->n_tally = at + 1;
    return at;
}

void adp_host_assign_tallies(struct adp_runtime *rt, struct adp_edition *e)
{
    pthread_mutex_lock(&rt->lanes_mutex);
    for (uint32_t i = 0; i < e->generation->n_members; i++) {
        struct adp_member *m = &e->generation->member[i];
        m->tally = tally_for(rt, m->policy->name, i > 0);
    }
    pthread_mutex_unlock(&rt->lanes_mutex);
}

static uint64_t sum(const struct adp_runtime *rt, uint32_t tally, uint32_t action,
                    uint32_t reason, uint32_t enforced)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < ADP_MAX_LANES; i++)
        if (rt->lane[i])
            n += atomic_load_explicit(
                &rt->lane[i]->tally[tally].n[action][reason][enforced],
                memory_order_relaxed);
    return n;
}

static const char *verdict_word(uint32_t action)
{
    static const char *const words[ADP_TALLY_ACTIONS] = { [0] = "fault",
                                                          [ADP_ADMIT] = "admit",
                                                          [ADP_REJECT] = "reject",
                                                          [ADP_DEFER] = "defer" };
    return words[action];
}

static const char *reason_word(uint32_t reason)
{
    const char *word =
        adp_reason_word(reason == ADP_TALLY_REASONS - 1 ? ADP_R_POLICY_ERROR : reason);
    return word ? word : "";
}

void adp_host_each_verdicts(const adp_runtime *rt,
                            void (*each)(void *ctx, const struct adp_host_verdicts *v),
                            void *ctx)
{
    enum { KINDS = ADP_TALLY_ACTIONS * ADP_TALLY_REASONS * 2 };
    struct adp_runtime *own = (struct adp_runtime *)rt; /* for its mutex */
    pthread_mutex_lock(&own->lanes_mutex);
    for (uint32_t tally = 0; tally < rt->n_tally; tally++)
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            uint32_t action = kind / (ADP_TALLY_REASONS * 2);
            uint32_t reason = kind / 2 % ADP_TALLY_REASONS;
            uint64_t n = sum(rt, tally, action, reason, kind % 2);
            struct adp_host_verdicts v = { .policy = rt->tally_of[tally].policy,
                                           .shadow = rt->tally_of[tally].shadow,
                                           .verdict = verdict_word(action),
                                           .reason = reason_word(reason),
                                           .enforced = kind % 2,
                                           .n = n };
            if (n)
                each(ctx, &v);
        }
    pthread_mutex_unlock(&own->lanes_mutex);
}

struct adp_host_queue adp_host_log_queue(const adp_runtime *rt)
{
    struct adp_host_queue q = { 0 };
    if (!adp_host_is_started(rt) || adp_host_is_inherited(rt))
        return q;
    for (uint32_t i = 0; i <= adp_region_shape(rt->region)->lanes; i++) {
        const struct adp_ring *ring = adp_region_ring(rt->region, i);
        /* head first: read the other way round it could have passed the tail. */
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        q.bytes += atomic_load_explicit(&ring->tail, memory_order_acquire) - head;
        q.cap += adp_region_ring_bytes(rt->region, i);
    }
    if (rt->log)
        q.lines_bytes = adp_log_counts(rt->log).pending;
    return q;
}
