/* SPDX-License-Identifier: MIT */
/* A generation: what one configuration made. Its policies with their instances and
 * parameters, the enforced share, the signals. Immutable while a lane's call slot names it.
 * The first policy governs, the others are shadows: asked, recorded, never obeyed. */
#ifndef ADP_CORE_GENERATION_H
#define ADP_CORE_GENERATION_H

#include "core/reason.h"
#include "core/region.h"
#include "core/signal.h"

#include <admitperf/policy.h>

#define ADP_GENERATIONS 16u /* live at once: in force, or waiting for tickets */

struct adp_member {
    /* Taken around decide and outcome of a SERIAL policy; held for one call. */
    _Alignas(ADP_LINE_BYTES) _Atomic uint32_t busy;
    _Alignas(ADP_LINE_BYTES) const struct adp_policy *policy; /* borrowed */
    void *self;
    const double *param;               /* by place; borrowed */
    uint32_t slot_of[ADP_MAX_SIGNALS]; /* policy's slot → index in the set */
    bool reject_on_error;
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
    struct adp_member member[ADP_MAX_POLICIES];
};

/* The generations of one runtime, found by number. Written by the control thread. */
struct adp_generations {
    _Atomic uint64_t current;                      /* number in force; 0: none */
    struct adp_generation *table[ADP_GENERATIONS]; /* by number % ADP_GENERATIONS */
};

/* Generation by number, or NULL when it is gone. The caller's call slot must name it, or
 * the caller be the control thread. [hot] */
struct adp_generation *adp_generation_find(struct adp_generations *generations,
                                           uint64_t number);

/* Names the generation in force in the lane's call slot and returns it, NULL when there is
 * none. Until adp_generation_leave it stays as it is; as adp_snapshot_enter. [hot] */
struct adp_generation *adp_generation_enter(const struct adp_region *region,
                                            uint32_t lane,
                                            struct adp_generations *generations);
void adp_generation_leave(const struct adp_region *region, uint32_t lane);

/* Calls a policy's decide or outcome, one thread at a time if it is SERIAL. [hot] */
void adp_member_decide(struct adp_member *member, const struct adp_view *view,
                       struct adp_verdict *verdict);
void adp_member_outcome(struct adp_member *member, const struct adp_outcome *outcome);

#endif
