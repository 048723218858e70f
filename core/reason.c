/* SPDX-License-Identifier: MIT */
/* Reasons: words and statuses in one table. */
#include "core/reason.h"

#include <stddef.h>

enum { CAPACITY = 503, CLIENT = 429, TOO_LARGE = 413 };

static const struct {
    const char *word;
    uint32_t status;
} reasons[] = {
    [ADP_R_KV_PRESSURE] = { "kv_pressure", CAPACITY },
    [ADP_R_QUEUE_DEPTH] = { "queue_depth", CAPACITY },
    [ADP_R_CAPACITY_RESERVED] = { "capacity_reserved", CAPACITY },
    [ADP_R_WAIT_ESTIMATE_EXCEEDED] = { "wait_estimate_exceeded", CAPACITY },
    [ADP_R_DEADLINE_INFEASIBLE] = { "deadline_infeasible", CAPACITY },
    [ADP_R_PREDICTED_LENGTH] = { "predicted_length", CAPACITY },
    [ADP_R_SIGNAL_STALE] = { "signal_stale", CAPACITY },
    [ADP_R_TENANT_QUOTA] = { "tenant_quota", CLIENT },
    [ADP_R_RATE_LIMIT] = { "rate_limit", CLIENT },
    [ADP_R_REQUEST_TOO_LARGE] = { "request_too_large", TOO_LARGE },
};
enum { N_REASONS = sizeof reasons / sizeof reasons[0] };

bool adp_reason_open(uint32_t reason)
{
    return reason > 0 && reason < N_REASONS;
}

const char *adp_reason_word(uint32_t reason)
{
    if (reason == ADP_R_POLICY_ERROR)
        return "policy_error";
    return adp_reason_open(reason) ? reasons[reason].word : NULL;
}

uint32_t adp_reason_status(uint32_t reason, enum adp_profile profile)
{
    static const uint32_t capacity[] = { [ADP_PROFILE_STANDARD] = 503,
                                         [ADP_PROFILE_LLM_D] = 429,
                                         [ADP_PROFILE_DYNAMO] = 529 };
    if (!reason)
        return 200;
    uint32_t status = adp_reason_open(reason) ? reasons[reason].status : CAPACITY;
    return status == CAPACITY ? capacity[profile] : status;
}
