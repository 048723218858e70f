/* SPDX-License-Identifier: MIT */
/* Recovery (core/recover.h). The states of tickets are core/ticket.c's. */
#include "core/recover.h"

#include "core/reason.h"
#include "core/ticket.h"

#include <string.h>

/* --- what a lane was doing --- */

/* The values of the snapshot it decided on, if that is still there. NULL: not. */
static const struct adp_snapshot *find_snapshot(const struct adp_region *region,
                                                uint64_t number)
{
    uint32_t n = adp_region_snapshots(region);
    for (uint32_t i = 0; number && i < n; i++) {
        const struct adp_snapshot *s = adp_region_snapshot(region, i);
        if (s->number == number)
            return s;
    }
    return NULL;
}

static enum adp_profile profile_of(uint64_t asked)
{
    uint32_t profile = (uint32_t)(asked >> ADP_ASKED_PROFILE) & 15u;
    return profile <= ADP_PROFILE_DYNAMO ? (enum adp_profile)profile
                                         : ADP_PROFILE_STANDARD;
}

static uint32_t put_values(const struct adp_region *region, const struct adp_call *call,
                           uint8_t *to)
{
    const struct adp_snapshot *s = find_snapshot(region, call->number);
    uint32_t n = s && s->n <= ADP_MAX_KNOWN ? s->n : 0;
    if (n)
        memcpy(to, s->value, n * sizeof(double));
    return n;
}

/* What is recorded of one policy. */
struct finding {
    uint32_t policy, action, reason, set, binding, retry_after_ms;
    enum adp_fault fault;
    double margin, p;
    uint64_t decide_ns;
};

/* Its fault, and on_error's answer. */
static struct finding find_fault(const struct adp_call *call, uint64_t asked,
                                 uint32_t policy, enum adp_fault fault, uint64_t mono_ns)
{
    bool reject = asked >> (ADP_ASKED_REJECTS + policy) & 1u;
    return (struct finding) { .policy = policy,
                              .action = reject ? ADP_REJECT : ADP_ADMIT,
                              .reason = reject ? ADP_R_POLICY_ERROR : 0,
                              .binding = ADP_NONE,
                              .fault = fault,
                              .decide_ns = mono_ns - call->mono_ns };
}

/* What the governing policy had said; else that it was caught. */
static struct finding find_governing(const struct adp_call *call, uint64_t asked,
                                     uint64_t mono_ns)
{
    const uint32_t known = ADP_SET_MARGIN | ADP_SET_P | ADP_SET_RETRY;
    struct finding f = { .action = call->said.action,
                         .reason = call->said.reason,
                         .set = call->said.set & known,
                         .binding = call->said.binding,
                         .retry_after_ms = call->said.retry_after_ms,
                         .fault = (enum adp_fault)call->said.fault,
                         .margin = call->said.margin,
                         .p = call->said.p,
                         .decide_ns = call->said.decide_ns };
    bool refuses = f.action == ADP_DEFER || f.action == ADP_REJECT;
    bool reasoned = adp_reason_open(f.reason) || f.reason == ADP_R_POLICY_ERROR;
    bool sound = (asked & ADP_ASKED_SAID) && call->said.fault < ADP_FAULT_COUNT &&
                 (refuses ? reasoned : f.action == ADP_ADMIT && !f.reason) &&
                 (f.binding < ADP_MAX_KNOWN || f.binding == ADP_NONE);
    return sound ? f : find_fault(call, asked, 0, ADP_FAULT_CAUGHT, mono_ns);
}

/* One record. False: there is no room. */
static bool record(const struct adp_region *region, uint32_t lane,
                   const struct adp_call *call, uint64_t asked, uint64_t generation,
                   const struct finding *f, uint64_t wall_ns)
{
    bool governed = asked & ADP_ASKED_GOVERNED;
    uint8_t id_len = (uint8_t)(asked >> ADP_ASKED_ID);
    if (id_len > ADP_ID_MAX || !(asked & ADP_ASKED_HAS_ID))
        id_len = 0;
    struct adp_rec_decision *r = adp_ring_begin(
        region, lane,
        (uint32_t)(sizeof *r + ADP_MAX_KNOWN * sizeof(double) + ADP_ID_MAX));
    if (!r)
        return false;
    uint64_t seq = r->head.seq;
    memset(r, 0, sizeof *r);
    r->head.seq = seq;
    r->head.kind = ADP_REC_DECISION;
    r->head.at_ns = wall_ns;
    r->mono_ns = call->mono_ns;
    r->draw = call->draw;
    r->decide_ns = f->decide_ns;
    r->generation = (uint32_t)generation;
    r->fact_bits = asked & ADP_ASKED_HAS_ID ? ADP_REC_HAS_ID : 0;
    r->flags = (governed ? ADP_REC_GOVERNED : 0u) |
               (governed && !f->policy ? ADP_REC_ENFORCED : 0u) |
               (f->policy ? ADP_REC_SHADOW : 0u);
    r->set = f->set;
    r->margin = f->margin;
    r->p = f->p;
    r->retry_after_ms = f->retry_after_ms;
    r->action = (uint8_t)f->action;
    r->reason = f->reason;
    r->status = adp_reason_status(r->reason, profile_of(asked));
    r->policy = (uint8_t)f->policy;
    r->fault = (uint8_t)f->fault;
    uint8_t *to = (uint8_t *)(r + 1);
    r->n_signals = (uint8_t)put_values(region, call, to);
    if (r->n_signals) {
        r->present = call->present;
        r->snapshot = call->number;
    }
    r->binding = f->binding < r->n_signals ? f->binding : ADP_NONE;
    to += r->n_signals * sizeof(double);
    r->id_len = id_len;
    memcpy(to, call->id, id_len);
    to += id_len;
    adp_ring_commit(region, lane, (uint32_t)(to - (uint8_t *)r));
    return true;
}

/* Whether a slot says what a lane can have written there. */
static bool is_sound(const struct adp_call *call, uint64_t asked, uint64_t mono_ns)
{
    const uint64_t known = ADP_ASKED | ADP_ASKED_HAS_ID | ADP_ASKED_GOVERNED |
                           ADP_ASKED_INLINE | ADP_ASKED_SAID |
                           0xffull << ADP_ASKED_REJECTS | 0xfull << ADP_ASKED_PROFILE |
                           0xffull << ADP_ASKED_ID;
    return (asked & ADP_ASKED) && !(asked & ~known) && call->mono_ns <= mono_ns &&
           call->draw >= 0.0 && call->draw < 1.0;
}

static void read_call(const struct adp_call *call, uint64_t asked, uint64_t mono_ns,
                      struct adp_death *ret)
{
    uint64_t in = atomic_load_explicit(&call->policy, memory_order_relaxed);
    *ret = (struct adp_death) {
        .start_ns = atomic_load_explicit(&call->start_ns, memory_order_acquire),
        .generation = (uint32_t)(in >> 8),
        .policy = (uint32_t)in & 0xff,
        .has_request = is_sound(call, asked, mono_ns),
    };
    ret->has_id = ret->has_request && (asked & ADP_ASKED_HAS_ID);
    ret->in_policy =
        ret->start_ns && ret->start_ns <= mono_ns && ret->policy < ADP_MAX_POLICIES;
    uint32_t len = (uint32_t)(asked >> ADP_ASKED_ID) & 0xff;
    ret->id_len = ret->has_id && len <= ADP_ID_MAX ? (uint8_t)len : 0;
    memcpy(ret->id, call->id, ret->id_len);
}

/* Before its records are made. */
static void tell(const struct adp_region *region, uint32_t lane, uint64_t asked,
                 const struct finding *f)
{
    struct adp_call *call = adp_region_call(region, lane);
    call->told.at = atomic_load_explicit(&adp_region_ring(region, lane)->next_seq,
                                         memory_order_relaxed);
    call->told.action = f->action;
    call->told.reason = f->reason;
    call->told.retry_after_ms = f->set & ADP_SET_RETRY ? f->retry_after_ms : 0;
    call->told.fault = f->fault;
    call->told.status = adp_reason_status(f->reason, profile_of(asked));
    atomic_store_explicit(&call->told.is, asked & ADP_ASKED_GOVERNED ? 2 : 1,
                          memory_order_release);
}

bool adp_recover_told(const struct adp_region *region, uint32_t lane, uint64_t records,
                      struct adp_decision *ret)
{
    if (!lane || lane > adp_region_shape(region)->lanes)
        return false;
    const struct adp_call *call = adp_region_call(region, lane);
    uint32_t is = atomic_load_explicit(&call->told.is, memory_order_acquire);
    uint32_t action = call->told.action;
    const char *reason = adp_reason_word(call->told.reason);
    bool refuses = (action == ADP_DEFER || action == ADP_REJECT) && reason;
    /* Each time there is something told, records follow: what is older has a lower number. */
    if (!is || call->told.at < records || call->told.fault >= ADP_FAULT_COUNT ||
        (action != ADP_ADMIT && !refuses))
        return false;
    bool governed = is == 2, refused = refuses && governed;
    uint32_t status = call->told.status;
    *ret = (struct adp_decision) {
        .size = sizeof *ret,
        .admitted = !refused,
        .action = refused ? action : ADP_ADMIT,
        .status = !refused                         ? 200
                  : status >= 400 && status <= 599 ? status
                                                   : 503,
        .retry_after_ms = refused ? call->told.retry_after_ms : 0,
        .enforced = governed,
        .policy_action = action,
        .reason = reason,
        .fault = adp_fault_word((enum adp_fault)call->told.fault),
    };
    return true;
}

void adp_recover_lane(const struct adp_region *region, uint32_t lane,
                      enum adp_fault fault, uint64_t mono_ns, uint64_t wall_ns,
                      struct adp_death *ret)
{
    struct adp_call *call = adp_region_call(region, lane);
    uint64_t asked = atomic_load_explicit(&call->asked, memory_order_acquire);
    uint64_t generation = atomic_load_explicit(&call->generation, memory_order_relaxed);
    read_call(call, asked, mono_ns, ret);
    if (ret->has_request && lane) { /* nobody decides on the control lane */
        bool shadow = ret->in_policy && ret->policy;
        struct finding governing = ret->in_policy && !shadow
                                       ? find_fault(call, asked, 0, fault, mono_ns)
                                       : find_governing(call, asked, mono_ns);
        tell(region, lane, asked, &governing);
        if (shadow) {
            struct finding own = find_fault(call, asked, ret->policy, fault, mono_ns);
            ret->records += record(region, lane, call, asked, generation, &own, wall_ns);
        }
        ret->records +=
            record(region, lane, call, asked, generation, &governing, wall_ns);
    }
    atomic_store_explicit(&call->asked, 0, memory_order_relaxed);
    atomic_store_explicit(&call->start_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&call->snapshot, 0, memory_order_relaxed);
    atomic_store_explicit(&call->generation, 0, memory_order_release);
}

/* --- the next writer --- */

bool adp_recover_answered(const struct adp_region *region, uint32_t lane,
                          const struct adp_generation *generation, uint64_t mono_ns,
                          uint64_t wall_ns)
{
    static const double last_draw = 1.0 - 0x1p-53;
    bool governed = generation->enforce >= 1.0;
    const struct adp_call call = { .mono_ns = mono_ns,
                                   .draw = governed ? 0.0 : last_draw };
    uint64_t asked = (governed ? ADP_ASKED_GOVERNED : 0u) | (uint64_t)generation->profile
                                                                << ADP_ASKED_PROFILE;
    if (governed && generation->member[0].reject_on_error)
        asked |= UINT64_C(1) << ADP_ASKED_REJECTS;
    struct finding f = find_fault(&call, asked, 0, ADP_FAULT_CAUGHT, mono_ns);
    return record(region, lane, &call, asked, generation->number, &f, wall_ns);
}

static void clear_counts(const struct adp_region *region)
{
    for (uint32_t lane = 0; lane <= adp_region_shape(region)->lanes; lane++) {
        struct adp_call *call = adp_region_call(region, lane);
        for (uint32_t i = 0; i < ADP_GENERATIONS; i++) {
            atomic_store_explicit(&call->taken[i], 0, memory_order_relaxed);
            atomic_store_explicit(&call->settled[i], 0, memory_order_relaxed);
        }
    }
}

uint64_t adp_recover_tickets(const struct adp_region *region,
                             const struct adp_generation *generation, uint64_t before,
                             const uint64_t saved_ns[ADP_MAX_POLICIES])
{
    uint64_t waiting = 0;
    clear_counts(region);
    for (uint32_t lane = 1; lane <= adp_region_shape(region)->lanes; lane++)
        waiting += adp_ticket_inherit(region, lane, generation, before, saved_ns);
    atomic_store_explicit(
        &adp_region_call(region, 0)->taken[generation->number % ADP_GENERATIONS], waiting,
        memory_order_release);
    return waiting;
}

bool adp_recover_snapshot(const struct adp_region *region,
                          const struct adp_generation *generation, uint64_t before)
{
    uint64_t named = before ? atomic_load_explicit(adp_region_current(region, before),
                                                   memory_order_acquire)
                            : 0;
    const struct adp_snapshot *s = named >= 1 && named <= adp_region_snapshots(region)
                                       ? adp_region_snapshot(region, (uint32_t)named - 1)
                                       : NULL;
    bool sound =
        s && s->n == generation->n_signals && adp_replicas_sound(&s->replicas, s->n);
    for (uint64_t g = 0; g < ADP_GENERATIONS; g++)
        atomic_store_explicit(adp_region_current(region, g), 0, memory_order_relaxed);
    if (sound)
        atomic_store_explicit(adp_region_current(region, generation->number), named,
                              memory_order_seq_cst);
    return sound;
}
