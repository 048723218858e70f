/* SPDX-License-Identifier: MIT */
/* What is owed (owed.h). The words of a note:
 *   0  the decision's id
 *   1  retry_after_ms | status << 32
 *   2  flags | action << 8 | policy_action << 12 | gateway << 16 | reason << 32
 * and of what is not decided yet:
 *   0  records of the lane so far
 *   1  the lane
 * of a frame:
 *   0  frame | stream << 32
 *   1  the decision's id
 *   2  flags | action << 8 | reason << 12 | status << 16 | retry_after_ms << 32
 * and of one that is not decided yet:
 *   1  records of the lane so far
 *   2  the lane << 16 */
#include "runtime/sidecar/owed.h"

#include "core/reason.h"
#include "core/record.h"
#include "core/recover.h"

#include <string.h>

enum { DECIDED = 1, ADMITTED = 2, ENFORCED = 4, FAULT = 8, ALWAYS_200 = 16 };
enum { MOST_REASON = 64 }; /* the vocabulary is closed, and smaller */

/* The number of a word that adp_decide took from the vocabulary; 0: none. */
static uint32_t reason_of(const char *word)
{
    const char *known;
    if (word && strcmp(word, adp_reason_word(ADP_R_POLICY_ERROR)) == 0)
        return ADP_R_POLICY_ERROR;
    for (uint32_t i = 1; word && i < MOST_REASON; i++)
        if ((known = adp_reason_word(i)) != NULL && strcmp(known, word) == 0)
            return i;
    return 0;
}

void adp_owed_write(uint64_t note[3], struct adp_owed_manner manner,
                    const adp_decision *d)
{
    note[0] = note[1] = 0;
    note[2] = (uint64_t)manner.gateway << 16 | (manner.always200 ? ALWAYS_200 : 0u);
    if (!d)
        return;
    note[0] = d->id;
    note[1] = d->retry_after_ms | (uint64_t)d->status << 32;
    note[2] |= DECIDED | (d->admitted ? ADMITTED : 0u) | (d->enforced ? ENFORCED : 0u) |
               (d->fault ? FAULT : 0u) | (uint64_t)(d->action & 15u) << 8 |
               (uint64_t)(d->policy_action & 15u) << 12 |
               (uint64_t)reason_of(d->reason) << 32;
}

static uint32_t action_of(uint64_t bits)
{
    uint32_t action = (uint32_t)bits & 15u;
    return action == ADP_DEFER || action == ADP_REJECT ? action : ADP_ADMIT;
}

static uint32_t status_of(uint64_t word, bool admitted)
{
    uint32_t status = (uint32_t)(word >> 32);
    return admitted ? 200 : status >= 400 && status <= 599 ? status : 503;
}

bool adp_owed_read(const uint64_t note[3], struct adp_owed_manner *ret_manner,
                   adp_decision *ret)
{
    uint64_t gateway = note[2] >> 16 & 15u;
    *ret_manner = (struct adp_owed_manner) {
        .gateway =
            gateway <= ADP_GATEWAY_ENVOY ? (enum adp_gateway)gateway : ADP_GATEWAY_NATIVE,
        .always200 = note[2] & ALWAYS_200,
    };
    if (!(note[2] & DECIDED))
        return false;
    bool admitted = note[2] & ADMITTED;
    *ret = (adp_decision) {
        .size = sizeof *ret,
        .admitted = admitted,
        .action = action_of(note[2] >> 8),
        .status = status_of(note[1], admitted),
        .retry_after_ms = (uint32_t)note[1],
        .enforced = (note[2] & ENFORCED) != 0,
        .policy_action = action_of(note[2] >> 12),
        .reason = adp_reason_word((uint32_t)(note[2] >> 32)),
        .fault = note[2] & FAULT ? adp_fault_word(ADP_FAULT_CAUGHT) : NULL,
        .id = note[0],
    };
    return true;
}

static uint64_t records_of(const struct adp_region *region, uint32_t lane)
{
    return atomic_load_explicit(&adp_region_ring(region, lane)->next_seq,
                                memory_order_relaxed);
}

void adp_owed_count(struct adp_owed_records *ret, const struct adp_region *region)
{
    *ret = (struct adp_owed_records) { 0 };
    for (uint32_t lane = 1; lane <= adp_region_shape(region)->lanes; lane++)
        ret->of[lane] = records_of(region, lane);
}

static bool is_recorded(const struct adp_owed_records *until, uint64_t lane,
                        uint64_t records)
{
    return lane && lane <= ADP_MAX_LANES && until->of[lane] != records;
}

void adp_owed_mark(uint64_t note[3], const adp_lane *lane)
{
    note[0] = records_of(lane->region, lane->number);
    note[1] = lane->number;
}

bool adp_owed_is_recorded(const uint64_t note[3], const struct adp_owed_records *until)
{
    return is_recorded(until, note[1], note[0]);
}

bool adp_owed_told(const uint64_t note[3], const struct adp_region *region,
                   adp_decision *ret)
{
    return note[1] <= ADP_MAX_LANES &&
           adp_recover_told(region, (uint32_t)note[1], note[0], ret);
}

/* Reasons in four bits; the last is the host's own. */
enum { FRAME_REASONS = 15 };

bool adp_owed_write_frame(uint64_t note[3], uint64_t stream, uint64_t frame,
                          const adp_decision *d)
{
    if (stream > UINT32_MAX || frame > UINT32_MAX)
        return false;
    note[0] = frame | stream << 32;
    note[1] = note[2] = 0;
    if (!d)
        return true;
    uint32_t reason = reason_of(d->reason);
    note[1] = d->id;
    note[2] = DECIDED | (d->admitted ? ADMITTED : 0u) | (d->enforced ? ENFORCED : 0u) |
              (uint64_t)(d->action & 15u) << 8 |
              (uint64_t)(reason < FRAME_REASONS ? reason : FRAME_REASONS) << 12 |
              (uint64_t)(d->status & 0xffffu) << 16 | (uint64_t)d->retry_after_ms << 32;
    return true;
}

bool adp_owed_read_frame(const uint64_t note[3], uint64_t *ret_stream,
                         uint64_t *ret_frame, adp_decision *ret)
{
    *ret_stream = note[0] >> 32;
    *ret_frame = note[0] & UINT32_MAX;
    if (!(note[2] & DECIDED))
        return false;
    bool admitted = note[2] & ADMITTED;
    uint32_t reason = (uint32_t)(note[2] >> 12) & 15u, action = action_of(note[2] >> 8);
    *ret = (adp_decision) {
        .size = sizeof *ret,
        .admitted = admitted,
        .action = action,
        .policy_action = action,
        .status = status_of((note[2] >> 16 & 0xffffu) << 32, admitted),
        .retry_after_ms = (uint32_t)(note[2] >> 32),
        .enforced = (note[2] & ENFORCED) != 0,
        .reason = adp_reason_word(reason == FRAME_REASONS ? ADP_R_POLICY_ERROR : reason),
        .id = note[1],
    };
    return true;
}

void adp_owed_mark_frame(uint64_t note[3], const adp_lane *lane)
{
    note[1] = records_of(lane->region, lane->number);
    note[2] = (uint64_t)lane->number << 16;
}

bool adp_owed_frame_is_recorded(const uint64_t note[3],
                                const struct adp_owed_records *until)
{
    return is_recorded(until, note[2] >> 16 & 0xffffu, note[1]);
}

bool adp_owed_frame_told(const uint64_t note[3], const struct adp_region *region,
                         adp_decision *ret)
{
    return adp_recover_told(region, (uint32_t)(note[2] >> 16 & 0xffffu), note[1], ret);
}

void adp_owed_fault(const struct adp_config *config, adp_decision *ret)
{
    const struct adp_policy_setting *p = &config->policies[0];
    bool rejects = p->on_error == ADP_ON_ERROR_REJECT && p->enforce >= 1.0;
    uint32_t reason = rejects ? ADP_R_POLICY_ERROR : 0;
    *ret = (adp_decision) {
        .size = sizeof *ret,
        .admitted = !rejects,
        .action = rejects ? ADP_REJECT : ADP_ADMIT,
        .policy_action = rejects ? ADP_REJECT : ADP_ADMIT,
        .status = adp_reason_status(reason, config->status_profile),
        .enforced = p->enforce >= 1.0,
        .reason = adp_reason_word(reason),
        .fault = adp_fault_word(ADP_FAULT_CAUGHT),
    };
}
