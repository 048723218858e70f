/* SPDX-License-Identifier: MIT */
/* Deciding: one request, the policies of one generation, one record each.
 *
 *  1. The host is told admit unless the governing policy (or on_error) refuses and the
 *     request is on the governed arm. The record holds the policy's verdict either way.
 *  2. A verdict that cannot be used (no action, unknown action or reason) is a fault:
 *     on_error answers, the fault is recorded, and nothing is counted as the policy's
 *     judgement.
 *  3. Every ticket a policy sets comes back in exactly one outcome (core/ticket.h).
 *  4. Recording cannot fail a decision: a full ring drops the record and counts it. */
#ifndef ADP_CORE_DECIDE_H
#define ADP_CORE_DECIDE_H

#include "core/generation.h"
#include "core/lane.h"
#include "core/record.h"
#include "core/split.h"

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

#endif
