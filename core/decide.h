/* SPDX-License-Identifier: MIT */
/* Deciding: one request, the policies of one generation, one record each.
 *
 * A generation is what one configuration made: policies with their instances and
 * parameters, the enforced share, the signals. It is immutable while a call slot names
 * it. The first policy governs, the others are shadows: asked, recorded, never obeyed.
 *
 *  1. The host is told admit unless the governing policy (or on_error) refuses and the
 * request is on the governed arm. The record holds the policy's verdict either way.
 *  2. A verdict that cannot be used (no action, unknown action or reason) is a fault:
 * on_error answers, the fault is recorded, and nothing is counted as the policy's
 * judgement.
 *  3. Every ticket a policy sets comes back in exactly one outcome (core/ticket.h).
 *  4. Recording cannot fail a decision: a full ring drops the record and counts it. */
#ifndef ADP_CORE_DECIDE_H
#define ADP_CORE_DECIDE_H

#include "core/lane.h"
#include "core/reason.h"
#include "core/record.h"
#include "core/split.h"

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

/* What one policy saw and said, for whoever wants to explain it. */
struct adp_trace {
    uint64_t present; /* by index in the set */
    double value[ADP_MAX_KNOWN];
    struct adp_split split;
    uint64_t mono_ns;
    struct adp_verdict verdict; /* of the governing policy, after on_error */
    enum adp_fault fault;
    bool governed;
};

/* Decides on the snapshot in force, or, when `metrics` is not NULL, on these. `trace` may
 * be NULL. Always fills *ret. 0, or ADP_ESTATE when no generation is in force. [hot] */
int adp_decide(struct adp_lane *lane, struct adp_generations *generations,
               const struct adp_facts *facts, const struct adp_metrics *metrics,
               struct adp_decision *ret, struct adp_trace *trace);

/* Calls a policy's outcome, one thread at a time if it is SERIAL. [hot] */
void adp_member_outcome(struct adp_member *member, const struct adp_outcome *outcome);

/* Generation by number, or NULL when it is gone. The caller's call slot must name it, or
 * the caller be the control thread. */
struct adp_generation *adp_generation_find(struct adp_generations *generations,
                                           uint64_t number);

#endif
