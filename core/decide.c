/* SPDX-License-Identifier: MIT */
/* Deciding (core/decide.h). */
#include "core/decide.h"

#include "core/ticket.h"

#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

const char *adp_fault_word(enum adp_fault fault)
{
    static const char *const words[ADP_FAULT_COUNT] = {
        [ADP_FAULT_UNDECIDED] = "the policy set no action",
        [ADP_FAULT_ACTION] = "the policy set an unknown action",
        [ADP_FAULT_REASON] = "the policy refused without a known reason",
        [ADP_FAULT_SET] = "the policy set fields that are not known",
        [ADP_FAULT_SEGV] = "the policy died of SIGSEGV",
        [ADP_FAULT_BUS] = "the policy died of SIGBUS",
        [ADP_FAULT_ABORT] = "the policy died of SIGABRT",
        [ADP_FAULT_FPE] = "the policy died of SIGFPE",
        [ADP_FAULT_ILL] = "the policy died of SIGILL",
        [ADP_FAULT_TRAP] = "the policy died of SIGTRAP",
        [ADP_FAULT_SYS] = "the policy died of SIGSYS",
        [ADP_FAULT_SIGNAL] = "the process died of a signal in the policy",
        [ADP_FAULT_EXIT] = "the policy ended the process",
        [ADP_FAULT_HANG] = "the policy did not return",
        [ADP_FAULT_MEMORY] = "the process grew beyond its memory in the policy",
        [ADP_FAULT_CAUGHT] = "the process died while the request was decided",
        [ADP_FAULT_QUARANTINED] = "the policy is in quarantine",
    };
    return fault < ADP_FAULT_COUNT ? words[fault] : NULL;
}

/* One request on its way: what all policies of the generation see alike. */
struct request {
    struct adp_lane *lane;
    struct adp_call *call; /* the lane's */
    struct adp_generation *generation;
    struct adp_generations *generations;
    const struct adp_metrics *metrics; /* NULL: the snapshot in force */
    struct adp_sheet *sheet;           /* of the metrics, where one is known */
    uint32_t left_out;                 /* of those that were given */
    uint64_t snapshot;                 /* number; 0: none */
    uint64_t mono_ns, wall_ns, meter_ns;
    uint64_t present;
    const double *value; /* of each signal of the set */
    double given[ADP_MAX_KNOWN];
    const struct adp_replicas
        *replicas; /* NULL: no policy reads any, or there are none */
    struct adp_name id, tenant, session, slo_class;
    size_t id_len, joined_len; /* as the host gave it; joined: 0, too long or no id */
    char joined[ADP_SPLIT_JOINED];
    struct adp_request facts;
    struct adp_split split;
    bool governed;
};

/* What one policy made of it. */
struct answer {
    struct adp_verdict verdict;
    enum adp_fault fault;
    uint64_t decide_ns;
};

/* --- facts --- */

static void take_facts(struct request *rq, const struct adp_facts *facts)
{
    static const struct adp_facts unknown = { .size = sizeof unknown };
    const struct adp_facts *f = facts ? facts : &unknown;
    adp_name_set(&rq->tenant, f->tenant);
    adp_name_set(&rq->session, f->session);
    adp_name_set(&rq->slo_class, f->slo_class);
    rq->facts = (struct adp_request) {
        .size = sizeof rq->facts,
        .tenant = f->tenant ? rq->tenant.own : NULL,
        .session = f->session ? rq->session.own : NULL,
        .slo_class = f->slo_class ? rq->slo_class.own : NULL,
        .tenant_key = rq->tenant.hash,
        .session_key = rq->session.hash,
        .present = f->present & (ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY | ADP_DEADLINE),
        .prompt_tokens = f->prompt_tokens,
        .max_output_tokens = f->max_output_tokens,
        .priority = f->priority,
        .ttft_deadline_ms = f->ttft_deadline_ms,
    };
    if (!isfinite(f->ttft_deadline_ms))
        rq->facts.present &= ~(uint32_t)ADP_DEADLINE;
}

/* The id, and what follows from it later: put together here, so that it has arrived where it
 * is read from when it is asked for. */
static void take_id(struct request *rq, const struct adp_facts *facts)
{
    const struct adp_generation *g = rq->generation;
    const char *id = facts ? facts->request_id : NULL;
    rq->id_len = adp_name_set(&rq->id, id);
    rq->joined_len =
        id ? adp_split_join(rq->joined, g->salt, g->salt_len, id, rq->id_len) : 0;
    if (id)
        adp_ticket_foresee(rq->lane, &rq->id);
}

/* Arm and draw. Without an id nothing ties a retry to its first try: governed only when
 * all are, and the draw comes from the lane's own count. */
static void split(struct request *rq, const struct adp_facts *facts)
{
    const struct adp_generation *g = rq->generation;
    const char *id = facts ? facts->request_id : NULL;
    if (id) {
        rq->split = rq->joined_len ? adp_split_joined(rq->joined, rq->joined_len)
                                   : adp_split_of(g->salt, g->salt_len, id, rq->id_len);
        rq->governed = rq->split.arm < g->enforce;
        if (rq->lane->has_draw)
            rq->split.draw = rq->lane->draw;
        return;
    }
    uint64_t name[3] = { adp_region_instance(rq->lane->region), rq->lane->number,
                         atomic_load_explicit(&rq->lane->decisions,
                                              memory_order_relaxed) };
    rq->split = (struct adp_split) {
        .draw = rq->lane->has_draw ? rq->lane->draw
                                   : adp_split_unit(XXH3_64bits(name, sizeof name)),
    };
    rq->governed = g->enforce >= 1.0;
}

/* --- signals --- */

/* The values stay where they are: the lane is in the snapshot until it has decided. */
static void gather_snapshot(struct request *rq, const struct adp_snapshot *s)
{
    static const double nothing[ADP_MAX_KNOWN];
    rq->value = s ? s->value : nothing;
    rq->present = s ? s->present : 0;
    rq->snapshot = s ? s->number : 0;
    if (!s || rq->mono_ns < s->first_expiry_ns)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (rq->mono_ns >= s->expires_ns[i])
            rq->present &= ~(1ull << i);
}

static void gather_read_before(struct request *rq)
{
    rq->value = rq->lane->values;
    rq->present = rq->lane->values_present;
    rq->snapshot = 0;
}

static void gather_given(struct request *rq)
{
    struct adp_lane *lane = rq->lane;
    const struct adp_generation *g = rq->generation;
    const struct adp_bound *bound =
        rq->sheet ? adp_sheet_bound(rq->sheet, g->number, g->signals) : NULL;
    adp_lane_read(lane, g->signals, bound, rq->metrics, rq->mono_ns, rq->wall_ns);
    rq->present = 0;
    rq->snapshot = 0;
    rq->value = rq->given;
    for (uint32_t i = 0; i < rq->generation->n_signals; i++) {
        const struct adp_reading *r = &lane->readings[i];
        rq->given[i] = r->value;
        if (r->why == ADP_WHY_PRESENT)
            rq->present |= 1ull << i;
    }
}

/* In the columns that policies read, which is what they see and what is recorded. */
static void gather_replicas(struct request *rq, const struct adp_snapshot *s)
{
    const struct adp_generation *g = rq->generation;
    struct adp_lane *lane = rq->lane;
    struct adp_replicas *seen = &lane->replicas->seen;
    rq->replicas = NULL;
    if (!g->replica_signals)
        return;
    if (lane->has_replicas) {
        rq->replicas = seen->rows ? seen : NULL;
        return;
    }
    if (!rq->metrics && (!s || !s->replicas.rows))
        return;
    if (!rq->metrics)
        adp_replicas_narrow(seen, &s->replicas, g->replica_signals, rq->mono_ns);
    else
        adp_lane_read_replicas(
            lane, g->signals, g->replica_signals,
            rq->sheet ? adp_sheet_bound(rq->sheet, g->number, g->signals) : NULL,
            rq->metrics, rq->mono_ns, rq->wall_ns);
    if (seen->rows)
        rq->replicas = seen;
}

/* --- asking a policy --- */

/* What stands for a field that this host does not know may matter to the verdict. */
static enum adp_fault judge(const struct adp_verdict *v)
{
    const uint32_t known = ADP_SET_MARGIN | ADP_SET_P | ADP_SET_RETRY;
    enum adp_fault set = v->set & ~known ? ADP_FAULT_SET : ADP_FAULT_NONE;
    switch (v->action) {
    case 0:
        return ADP_FAULT_UNDECIDED;
    case ADP_ADMIT:
        return set;
    case ADP_REJECT:
    case ADP_DEFER:
        return adp_reason_open(v->reason) ? set : ADP_FAULT_REASON;
    default:
        return ADP_FAULT_ACTION;
    }
}

/* Leaves only what the contract allows in a verdict: what is out of range counts as not
 * set. */
static void sanitise(struct adp_verdict *v, const struct adp_member *m)
{
    if (v->action == ADP_ADMIT)
        v->reason = 0;
    if (!isfinite(v->margin))
        v->set &= ~(uint32_t)ADP_SET_MARGIN;
    if (!(v->p >= 0.0 && v->p <= 1.0))
        v->set &= ~(uint32_t)ADP_SET_P;
    if (v->action == ADP_ADMIT || !v->retry_after_ms)
        v->set &= ~(uint32_t)ADP_SET_RETRY;
    v->binding = v->binding < m->policy->n_signals ? m->slot_of[v->binding] : ADP_NONE;
}

static void answer_in_place(struct adp_verdict *v, bool reject)
{
    v->action = reject ? ADP_REJECT : ADP_ADMIT;
    v->reason = reject ? ADP_R_POLICY_ERROR : 0;
    v->set = 0;
}

static void show_replicas(const struct request *rq, const struct adp_member *m,
                          struct adp_view *view)
{
    struct adp_lane_replicas *own = rq->lane->replicas;
    adp_replicas_spread(rq->replicas, m->slot_of, m->policy->n_signals, m->replica_slots,
                        own->value, own->present);
    view->n_replicas = rq->replicas->rows;
    view->replica = own->value;
    view->replica_present = own->present;
}

static void ask(struct request *rq, uint32_t i, struct answer *a)
{
    struct adp_member *m = &rq->generation->member[i];
    if (m->quarantined) {
        *a = (struct answer) { .verdict = { .size = sizeof a->verdict,
                                            .binding = ADP_NONE },
                               .fault = ADP_FAULT_QUARANTINED };
        answer_in_place(&a->verdict, false);
        return;
    }
    const struct adp_policy *policy = m->policy;
    double signal[ADP_MAX_SIGNALS];
    struct adp_view view = {
        .size = sizeof view,
        .now_ns = rq->mono_ns,
        .draw = rq->split.draw,
        .signal = signal,
        .param = m->param,
        .request = &rq->facts,
    };
    for (uint32_t slot = 0; slot < policy->n_signals; slot++) {
        uint32_t known = m->slot_of[slot];
        signal[slot] = rq->value[known];
        view.present |= (rq->present >> known & 1u) << slot;
    }
    if (rq->replicas && m->replica_slots)
        show_replicas(rq, m, &view);
    a->verdict = (struct adp_verdict) { .size = sizeof a->verdict, .binding = ADP_NONE };

    adp_call_begin(rq->call, rq->generation->number, i, rq->mono_ns);
    adp_member_decide(m, &view, &a->verdict);
    adp_call_end(rq->call);

    uint64_t now = rq->lane->clock->meter_ns(rq->lane->clock->ctx);
    a->decide_ns = now - rq->meter_ns;
    rq->meter_ns = now;
    a->fault = judge(&a->verdict);
    sanitise(&a->verdict, m);
    if (a->fault)
        answer_in_place(&a->verdict, m->reject_on_error);
}

/* For whoever finds the lane after a policy took the process with it. */
static void name_request(const struct request *rq)
{
    const struct adp_generation *g = rq->generation;
    struct adp_call *call = rq->call;
    uint32_t asked =
        ADP_ASKED | (rq->id.p ? ADP_ASKED_HAS_ID : 0u) |
        (rq->governed ? ADP_ASKED_GOVERNED : 0u) | (rq->metrics ? ADP_ASKED_INLINE : 0u) |
        (uint32_t)g->profile << ADP_ASKED_PROFILE | (uint32_t)rq->id.n << ADP_ASKED_ID;
    for (uint32_t i = 0; i < g->n_members; i++)
        asked |= (uint32_t)g->member[i].reject_on_error << (ADP_ASKED_REJECTS + i);
    call->mono_ns = rq->mono_ns;
    call->wall_ns = rq->wall_ns;
    call->present = rq->present;
    call->number = rq->snapshot;
    call->draw = rq->split.draw;
    if (rq->id.p)
        memcpy(call->id, rq->id.p, rq->id.n);
    /* Release: whoever reads it after our death has what it speaks of. */
    atomic_store_explicit(&call->asked, asked, memory_order_release);
}

/* Likewise, what the governing policy said, before shadows are asked: none of them is to change
 * it, whatever it does. */
static void name_answer(const struct request *rq, const struct answer *a)
{
    struct adp_call *call = rq->call;
    uint64_t asked = atomic_load_explicit(&call->asked, memory_order_relaxed);
    call->said.action = a->verdict.action;
    call->said.reason = a->verdict.reason;
    call->said.set = a->verdict.set;
    call->said.binding = a->verdict.binding;
    call->said.retry_after_ms = a->verdict.retry_after_ms;
    call->said.margin = a->verdict.margin;
    call->said.p = a->verdict.p;
    call->said.decide_ns = a->decide_ns;
    call->said.fault = a->fault;
    /* Release: as above. */
    atomic_store_explicit(&call->asked, asked | ADP_ASKED_SAID, memory_order_release);
}

/* Its records are made. */
static void forget_request(const struct request *rq)
{
    /* Release: not before the records. */
    atomic_store_explicit(&rq->call->asked, 0, memory_order_release);
}

/* --- recording --- */

/* Room for ADP_ID_MAX bytes is there; what goes behind the text is written over. */
static uint8_t *put(uint8_t *to, const struct adp_name *name)
{
    if (!name->p)
        return to;
    memcpy(to, name->own, ADP_ID_MAX);
    return to + name->n;
}

static uint8_t *put_signals(const struct request *rq, uint8_t *to)
{
    uint32_t n = rq->generation->n_signals;
    if (!rq->metrics) {
        double *value = (double *)(void *)to;
        /* Few: what a copy of this many bytes would cost is its beginning. */
        for (uint32_t i = 0; i < n; i++)
            value[i] = rq->value[i];
        return (uint8_t *)(value + n);
    }
    struct adp_rec_reading *reading = (struct adp_rec_reading *)(void *)to;
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_reading *r = &rq->lane->readings[i];
        reading[i] = (struct adp_rec_reading) { .value = rq->value[i],
                                                .age_s = r->age_s,
                                                .source = (int16_t)r->source,
                                                .why = (uint8_t)r->why };
    }
    return to + n * sizeof *reading;
}

static uint32_t known_facts(const struct request *rq)
{
    return rq->facts.present | (rq->id.p ? ADP_REC_HAS_ID : 0u) |
           (rq->tenant.p ? ADP_REC_HAS_TENANT : 0u) |
           (rq->session.p ? ADP_REC_HAS_SESSION : 0u) |
           (rq->slo_class.p ? ADP_REC_HAS_CLASS : 0u);
}

/* How the metrics go into a record: as a shape that was told, as one to be told, or as they
 * are. 0: none came with the request. */
static uint32_t metrics_flags(const struct request *rq)
{
    if (!rq->metrics)
        return 0;
    if (!rq->sheet || !rq->sheet->shape || !rq->sheet->again)
        return ADP_REC_INLINE;
    return ADP_REC_INLINE | (rq->sheet->told ? ADP_REC_VALUES : ADP_REC_TELLS);
}

static size_t metrics_bytes(const struct request *rq, uint32_t flags)
{
    if (flags & ADP_REC_VALUES)
        return rq->sheet->n * sizeof(double);
    return rq->metrics ? adp_lane_encode(rq->metrics, NULL, 0) : 0;
}

static uint8_t *put_metrics(const struct request *rq, uint32_t flags, uint8_t *to,
                            size_t bytes)
{
    if (!(flags & ADP_REC_VALUES))
        return bytes ? to + adp_lane_encode(rq->metrics, to, bytes) : to;
    double *value = (double *)(void *)to;
    for (uint32_t i = 0; i < rq->sheet->n; i++)
        value[i] = adp_metrics_at(rq->metrics, i)->value;
    return to + bytes;
}

/* Series that a record cannot hold. */
static uint32_t unpacked(const struct adp_metrics *metrics)
{
    uint32_t left_out = 0, count = adp_metrics_count(metrics);
    for (uint32_t i = 0; i < count; i++)
        left_out += !adp_lane_packs(adp_metrics_at(metrics, i));
    return left_out;
}

static uint32_t shape_of(const struct request *rq, uint32_t flags)
{
    if (flags & ADP_REC_OMITTED)
        return adp_metrics_count(rq->metrics) + rq->left_out;
    if (flags == ADP_REC_INLINE)
        return rq->left_out + (rq->sheet && rq->sheet->shape ? 0 : unpacked(rq->metrics));
    return flags & (ADP_REC_TELLS | ADP_REC_VALUES) ? rq->sheet->shape : 0;
}

static void record(const struct request *rq, uint32_t i, const struct answer *a,
                   uint64_t id)
{
    struct adp_lane *lane = rq->lane;
    uint32_t n = rq->generation->n_signals;
    uint32_t given = metrics_flags(rq);
    size_t series = metrics_bytes(rq, given);
    size_t replicas = rq->replicas ? adp_replicas_bytes(rq->replicas) : 0;
    size_t bytes = sizeof(struct adp_rec_decision) +
                   n * (rq->metrics ? sizeof(struct adp_rec_reading) : sizeof(double)) +
                   replicas + 4u * ADP_ID_MAX;
    if (series && bytes + series > adp_ring_most(lane->region, lane->number)) {
        given = ADP_REC_INLINE | ADP_REC_OMITTED;
        series = 0;
    }
    struct adp_rec_decision *r =
        adp_ring_begin(lane->region, lane->number, (uint32_t)(bytes + series));
    if (!r)
        return;
    r->head.kind = ADP_REC_DECISION;
    r->head.at_ns = rq->wall_ns;
    r->mono_ns = rq->mono_ns;
    r->id = id;
    r->snapshot = rq->snapshot;
    r->present = rq->present;
    r->draw = rq->split.draw;
    r->p = a->verdict.p;
    r->margin = a->verdict.margin;
    r->prompt_tokens = rq->facts.prompt_tokens;
    r->max_output_tokens = rq->facts.max_output_tokens;
    r->priority = rq->facts.priority;
    r->ttft_deadline_ms = rq->facts.ttft_deadline_ms;
    r->decide_ns = a->decide_ns;
    r->generation = rq->generation->number;
    r->retry_after_ms = a->verdict.retry_after_ms;
    r->fact_bits = known_facts(rq);
    r->set = a->verdict.set;
    r->flags = (i == 0 && rq->governed ? ADP_REC_ENFORCED : 0u) |
               (rq->governed ? ADP_REC_GOVERNED : 0u) | (i ? ADP_REC_SHADOW : 0u) |
               (replicas ? ADP_REC_REPLICAS : 0u) | given;
    r->reason = a->verdict.reason;
    r->status = adp_reason_status(a->verdict.reason, rq->generation->profile);
    r->binding = a->verdict.binding;
    r->metrics_len = (uint32_t)series;
    r->policy = (uint8_t)i;
    r->action = (uint8_t)a->verdict.action;
    r->fault = (uint8_t)a->fault;
    r->n_signals = (uint8_t)n;
    r->id_len = rq->id.n;
    r->tenant_len = rq->tenant.n;
    r->session_len = rq->session.n;
    r->class_len = rq->slo_class.n;
    r->shape = shape_of(rq, given);
    uint8_t *to = put_signals(rq, (uint8_t *)(r + 1));
    if (replicas)
        to = adp_replicas_encode(rq->replicas, to);
    if (!(given & ADP_REC_OMITTED))
        to = put_metrics(rq, given, to, series);
    to = put(put(put(put(to, &rq->id), &rq->tenant), &rq->session), &rq->slo_class);
    adp_ring_commit(lane->region, lane->number, (uint32_t)(to - (uint8_t *)r));
    if (given & ADP_REC_TELLS)
        rq->sheet->told = true; /* the ring keeps what it has taken, in order */
}

/* --- the whole --- */

/* A handle for the request, and the tickets' place: waiting when it runs, back at once
 * when not (nothing ran, nothing is to be learnt). */
static uint64_t settle_tickets(struct request *rq, const struct answer *answers,
                               bool runs)
{
    struct adp_generation *g = rq->generation;
    uint64_t tickets[ADP_MAX_POLICIES];
    for (uint32_t i = 0; i < g->n_members; i++)
        tickets[i] = answers[i].verdict.ticket;
    if (runs)
        return adp_ticket_take(rq->lane, rq->generations, g, &rq->id, tickets,
                               rq->mono_ns);
    for (uint32_t i = 0; i < g->n_members; i++) {
        struct adp_outcome not_run = { .size = sizeof not_run,
                                       .kind = ADP_NOT_RUN,
                                       .ticket = tickets[i],
                                       .now_ns = rq->mono_ns };
        if (tickets[i]) {
            adp_call_begin(rq->call, g->number, i, rq->mono_ns);
            adp_member_outcome(&g->member[i], &not_run);
            adp_call_end(rq->call);
        }
    }
    return adp_ticket_unslotted(rq->lane, rq->generations, rq->mono_ns);
}

static void answer_host(const struct request *rq, const struct answer *a, uint64_t id,
                        struct adp_decision *ret)
{
    bool refused = a->verdict.action != ADP_ADMIT && rq->governed;
    *ret = (struct adp_decision) {
        .size = sizeof *ret,
        .admitted = !refused,
        .action = refused ? a->verdict.action : ADP_ADMIT,
        .status =
            adp_reason_status(refused ? a->verdict.reason : 0, rq->generation->profile),
        .retry_after_ms =
            refused && a->verdict.set & ADP_SET_RETRY ? a->verdict.retry_after_ms : 0,
        .enforced = rq->governed,
        .policy_action = a->verdict.action,
        .reason = adp_reason_word(a->verdict.reason),
        .fault = adp_fault_word(a->fault),
        .id = id,
    };
}

static void trace_out(const struct request *rq, const struct answer *a,
                      struct adp_trace *trace)
{
    trace->present = rq->present;
    memcpy(trace->value, rq->value, sizeof trace->value);
    trace->split = rq->split;
    trace->mono_ns = rq->mono_ns;
    trace->verdict = a->verdict;
    trace->fault = a->fault;
    trace->governed = rq->governed;
}

static void count_verdict(const struct request *rq, uint32_t i, const struct answer *a)
{
    uint32_t tally = rq->generation->member[i].tally, reason = a->verdict.reason;
    uint32_t action = a->fault ? 0 : a->verdict.action;
    if (reason >= ADP_TALLY_REASONS - 1)
        reason = ADP_TALLY_REASONS - 1;
    _Atomic uint64_t *n = &rq->lane->tally[tally < ADP_TALLIES ? tally : ADP_TALLIES - 1]
                               .n[action][reason][i == 0 && rq->governed];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void count(const struct request *rq, const struct answer *answers, uint32_t n)
{
    struct adp_lane *lane = rq->lane;
    uint64_t faults = 0;
    for (uint32_t i = 0; i < n; i++) {
        faults += answers[i].fault != ADP_FAULT_NONE;
        count_verdict(rq, i, &answers[i]);
    }
    uint64_t d = atomic_load_explicit(&lane->decisions, memory_order_relaxed);
    atomic_store_explicit(&lane->decisions, d + n, memory_order_relaxed);
    if (!faults)
        return;
    uint64_t f = atomic_load_explicit(&lane->faults, memory_order_relaxed);
    atomic_store_explicit(&lane->faults, f + faults, memory_order_relaxed);
}

int adp_decide(struct adp_lane *lane, struct adp_generations *generations,
               const struct adp_facts *facts, const struct adp_metrics *metrics,
               struct adp_decision *ret, struct adp_trace *trace)
{
    const struct adp_clock *clock = lane->clock;
    struct request rq; /* not zeroed: each field is set on the way */
    struct answer answers[ADP_MAX_POLICIES];
    rq.lane = lane;
    rq.call = lane->call;
    rq.generations = generations;
    rq.metrics = metrics;
    rq.sheet = metrics == lane->now && lane->given && lane->given->n ? lane->given : NULL;
    rq.left_out = metrics == lane->now && lane->given ? lane->given->left_out : 0;
    lane->given = NULL;
    rq.meter_ns = clock->meter_ns(clock->ctx);
    rq.mono_ns =
        clock->mono_ns == clock->meter_ns ? rq.meter_ns : clock->mono_ns(clock->ctx);
    rq.wall_ns = adp_lane_wall(lane, rq.mono_ns);
    const struct adp_snapshot *snapshot = NULL;
    rq.generation =
        metrics
            ? adp_generation_enter(lane->region, lane->number, generations)
            : adp_generation_enter_on(lane->region, lane->number, generations, &snapshot);
    if (!rq.generation) {
        *ret = (struct adp_decision) {
            .size = sizeof *ret, .admitted = 1, .action = ADP_ADMIT, .status = 200
        };
        return ADP_ESTATE;
    }
    take_id(&rq, facts);
    take_facts(&rq, facts);
    split(&rq, facts);
    if (metrics)
        gather_given(&rq);
    else if (lane->values)
        gather_read_before(&rq);
    else
        gather_snapshot(&rq, snapshot);
    gather_replicas(&rq, snapshot);

    name_request(&rq);

    uint32_t n = rq.generation->n_members;
    ask(&rq, 0, &answers[0]);
    if (n > 1)
        name_answer(&rq, &answers[0]);
    for (uint32_t i = 1; i < n; i++)
        ask(&rq, i, &answers[i]);
    bool runs = answers[0].verdict.action == ADP_ADMIT || !rq.governed;
    uint64_t id = settle_tickets(&rq, answers, runs);
    for (uint32_t i = 0; lane->recording && i < n; i++)
        record(&rq, i, &answers[i], id);
    forget_request(&rq);
    count(&rq, answers, n);
    answer_host(&rq, &answers[0], id, ret);
    if (trace)
        trace_out(&rq, &answers[0], trace);
    if (metrics && metrics == lane->now)
        adp_lane_keep(lane, rq.mono_ns);
    adp_generation_leave(lane->region, lane->number);
    return 0;
}
