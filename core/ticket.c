/* SPDX-License-Identifier: MIT */
/* Tickets (core/ticket.h has the state diagram and the invariants). */
#include "core/ticket.h"

#include <string.h>

enum { FREE, WAITING, SETTLING, PHASE = 3, WAYS = 4, TRIES = 8, LOOKS = 4 };

static uint64_t state_of(uint64_t use, unsigned phase)
{
    return use << 2 | phase;
}

static uint64_t handle_of(uint32_t lane, uint32_t slot, uint64_t use)
{
    return (uint64_t)lane << 56 | (uint64_t)slot << 32 | (use & 0xffffffffu);
}

/* Moves WAITING → SETTLING of exactly this use. */
static bool claim(struct adp_ticket_slot *slot, uint64_t use)
{
    uint64_t waiting = state_of(use, WAITING);
    /* Acquire: what take wrote is ours to read. */
    return atomic_compare_exchange_strong_explicit(
        &slot->state, &waiting, state_of(use, SETTLING), memory_order_acquire,
        memory_order_relaxed);
}

/* What `by` took or settled; only its own thread counts. Release: whoever sees the count
 * sees what it counts done. */
static void tally(_Atomic uint64_t *count)
{
    uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + 1, memory_order_release);
}

/* Delivered: the slot may be taken again. */
static void release(struct adp_ticket_slot *slot, uint64_t use, struct adp_call *by)
{
    uint32_t generation = atomic_load_explicit(&slot->generation, memory_order_relaxed);
    tally(&by->settled[generation % ADP_GENERATIONS]);
    /* Release: our reads are done before the slot is taken again. */
    atomic_store_explicit(&slot->state, state_of(use, FREE), memory_order_release);
}

static void deliver(struct adp_generations *generations,
                    const struct adp_ticket_slot *slot, const struct adp_outcome *outcome,
                    struct adp_call *by)
{
    struct adp_generation *g = adp_generation_find(
        generations, atomic_load_explicit(&slot->generation, memory_order_relaxed));
    for (uint32_t i = 0; g && i < slot->n_tickets && i < g->n_members; i++) {
        if (!slot->ticket[i])
            continue;
        struct adp_outcome own = *outcome;
        own.ticket = slot->ticket[i];
        adp_call_begin(by, g->number, i, outcome->now_ns);
        adp_member_outcome(&g->member[i], &own);
        adp_call_end(by);
    }
}

static bool lose(struct adp_ticket_slot *slot, uint64_t use, struct adp_call *by,
                 struct adp_generations *generations, uint64_t now_ns)
{
    if (!claim(slot, use))
        return false;
    struct adp_outcome lost = { .size = sizeof lost, .kind = ADP_LOST, .now_ns = now_ns };
    deliver(generations, slot, &lost, by);
    release(slot, use, by);
    return true;
}

static void count_lost(struct adp_lane *lane)
{
    uint64_t n = atomic_load_explicit(&lane->lost_tickets, memory_order_relaxed);
    atomic_store_explicit(&lane->lost_tickets, n + 1, memory_order_relaxed);
}

/* Gives up what has waited too long, the oldest first: slots are taken in turn, so the
 * cursor follows next_ticket and stops at the first that may still wait. Several looks,
 * so that it catches up with a slot taken per decision. */
static void age(struct adp_lane *lane, struct adp_generations *generations,
                uint64_t now_ns)
{
    const uint32_t mask = lane->ticket_mask;
    if (lane->next_ticket - lane->sweep > mask)
        lane->sweep =
            lane->next_ticket - mask - 1; /* those before were emptied in turn */
    for (int i = 0; i < LOOKS && lane->sweep != lane->next_ticket; i++, lane->sweep++) {
        struct adp_ticket_slot *slot = &lane->tickets[lane->sweep & mask];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) != WAITING)
            continue;
        /* deadline_ns was written by this thread, and is read in WAITING only. */
        if (now_ns <= slot->deadline_ns)
            return;
        if (lose(slot, state >> 2, lane->call, generations, now_ns))
            count_lost(lane);
    }
}

/* The next slot in turn, emptied if need be; NULL when other threads hold all that we
 * tried. */
static struct adp_ticket_slot *next_slot(struct adp_lane *lane,
                                         struct adp_generations *generations,
                                         uint64_t now_ns, uint32_t *ret_turn)
{
    for (int i = 0; i < TRIES; i++) {
        uint32_t turn = lane->next_ticket++;
        struct adp_ticket_slot *slot = &lane->tickets[turn & lane->ticket_mask];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) == WAITING &&
            lose(slot, state >> 2, lane->call, generations, now_ns))
            count_lost(lane);
        state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) == FREE) {
            *ret_turn = turn;
            return slot;
        }
    }
    return NULL;
}

static bool entry_is_live(const struct adp_lane *lane, uint64_t entry)
{
    const struct adp_ticket_slot *slot =
        &lane->tickets[(uint32_t)entry & lane->ticket_mask];
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    uint64_t hash = atomic_load_explicit(&slot->id_hash, memory_order_relaxed);
    return (state & PHASE) == WAITING && hash >> 32 == entry >> 32;
}

/* The entry to write over: one whose slot has had its turn again, else one that waits no
 * more, else the oldest. Only the second asks for memory that is likely cold. */
static uint32_t worst_way(const struct adp_lane *lane, const _Atomic uint64_t *set,
                          uint32_t turn)
{
    uint32_t oldest = 0, most = 0;
    for (uint32_t i = 0; i < WAYS; i++) {
        uint64_t entry = atomic_load_explicit(&set[i], memory_order_relaxed);
        uint32_t ago = turn - (uint32_t)entry;
        if (!entry || ago > lane->ticket_mask)
            return i;
        if (ago > most) {
            most = ago;
            oldest = i;
        }
    }
    for (uint32_t i = 0; i < WAYS; i++)
        if (!entry_is_live(lane, atomic_load_explicit(&set[i], memory_order_relaxed)))
            return i;
    return oldest;
}

/* Where in an index an id of this hash is looked for. */
static _Atomic uint64_t *set_of(_Atomic uint64_t *index, uint32_t mask, uint64_t hash)
{
    return index + (uint64_t)((uint32_t)hash & mask) * WAYS;
}

void adp_ticket_foresee(const struct adp_lane *lane, const struct adp_name *id)
{
    __builtin_prefetch((const void *)set_of(lane->index, lane->ticket_mask, id->hash), 1);
}

/* Notes where an id waits. A full set forgets its oldest way: that request can then be
 * settled by its handle only, and is LOST in time otherwise. */
static void index_add(struct adp_lane *lane, uint64_t hash, uint32_t turn)
{
    _Atomic uint64_t *set = set_of(lane->index, lane->ticket_mask, hash);
    uint32_t way = worst_way(lane, set, turn);
    atomic_store_explicit(&set[way], (hash >> 32) << 32 | turn, memory_order_release);
}

static uint64_t handle_unslotted(struct adp_lane *lane)
{
    return handle_of(lane->number, ADP_TICKET_NO_SLOT, ++lane->unslotted);
}

uint64_t adp_ticket_unslotted(struct adp_lane *lane, struct adp_generations *generations,
                              uint64_t now_ns)
{
    age(lane, generations, now_ns);
    return handle_unslotted(lane);
}

uint64_t adp_ticket_take(struct adp_lane *lane, struct adp_generations *generations,
                         const struct adp_generation *generation,
                         const struct adp_name *id,
                         const uint64_t tickets[ADP_MAX_POLICIES], uint64_t now_ns)
{
    const uint32_t mask = lane->ticket_mask;
    uint32_t turn = 0;
    age(lane, generations, now_ns);
    struct adp_ticket_slot *slot = next_slot(lane, generations, now_ns, &turn);
    struct adp_ticket_slot none; /* tickets that find no slot are LOST at once */
    struct adp_ticket_slot *to = slot ? slot : &none;
    uint64_t use =
        slot ? (atomic_load_explicit(&slot->state, memory_order_relaxed) >> 2) + 1 : 0;

    to->deadline_ns = now_ns + generation->ticket_ns;
    atomic_store_explicit(&to->generation, generation->number, memory_order_relaxed);
    to->n_tickets = (uint8_t)generation->n_members;
    for (uint32_t i = 0; i < generation->n_members; i++)
        to->ticket[i] = tickets[i];
    if (!slot) {
        struct adp_outcome lost = { .size = sizeof lost,
                                    .kind = ADP_LOST,
                                    .now_ns = now_ns };
        deliver(generations, to, &lost, lane->call);
        count_lost(lane);
        return handle_unslotted(lane);
    }
    slot->has_id = id->p != NULL;
    slot->id_len = id->n;
    if (id->p)
        memcpy(slot->id, id->own, sizeof slot->id);
    atomic_store_explicit(&slot->id_hash, id->hash, memory_order_relaxed);
    tally(&lane->call->taken[generation->number % ADP_GENERATIONS]);
    /* Release: whoever claims sees all of the above. */
    atomic_store_explicit(&slot->state, state_of(use, WAITING), memory_order_release);
    if (id->p)
        index_add(lane, id->hash, turn);
    const struct adp_ticket_slot *next = &lane->tickets[(turn + 1) & mask];
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next->id + ADP_ID_MAX / 2, 1);
    return handle_of(lane->number, turn & mask, use);
}

static bool same_id(const struct adp_ticket_slot *slot, const struct adp_name *id)
{
    return slot->has_id && slot->id_len == id->n && memcmp(slot->id, id->p, id->n) == 0;
}

/* Looks an id up on one lane and claims its newest waiting slot. */
static struct adp_ticket_slot *claim_by_id(const struct adp_region *region, uint32_t lane,
                                           const struct adp_name *id, uint64_t *ret_use,
                                           uint32_t *ret_i)
{
    const uint64_t hash = id->hash;
    struct adp_ticket_slot *slots = adp_region_tickets(region, lane);
    uint32_t mask = adp_region_shape(region)->tickets - 1;
    _Atomic uint64_t *set = set_of(adp_region_index(region, lane), mask, hash);
    for (uint32_t w = 0; w < WAYS; w++) {
        uint64_t entry = atomic_load_explicit(&set[w], memory_order_acquire);
        uint32_t i = (uint32_t)entry & mask;
        if (!entry || entry >> 32 != hash >> 32)
            continue;
        struct adp_ticket_slot *slot = &slots[i];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) != WAITING ||
            atomic_load_explicit(&slot->id_hash, memory_order_relaxed) != hash ||
            !claim(slot, state >> 2))
            continue;
        if (same_id(slot, id)) {
            *ret_use = state >> 2;
            *ret_i = i;
            return slot;
        }
        /* Another id with the same 64-bit hash: it goes on waiting. */
        atomic_store_explicit(&slot->state, state, memory_order_release);
    }
    return NULL;
}

static struct adp_ticket_slot *claim_by_handle(const struct adp_region *region,
                                               uint64_t handle, uint64_t *ret_use)
{
    const struct adp_shape *shape = adp_region_shape(region);
    uint32_t lane = (uint32_t)(handle >> 56), i = (uint32_t)(handle >> 32) & 0xffffffu;
    if (lane < 1 || lane > shape->lanes || i >= shape->tickets)
        return NULL;
    struct adp_ticket_slot *slot = &adp_region_tickets(region, lane)[i];
    uint64_t use = atomic_load_explicit(&slot->state, memory_order_relaxed) >> 2;
    if ((use & 0xffffffffu) != (handle & 0xffffffffu) || !claim(slot, use))
        return NULL;
    *ret_use = use;
    return slot;
}

static int settle(struct adp_lane *lane, struct adp_generations *generations,
                  uint64_t handle, const struct adp_name *id,
                  const struct adp_outcome *outcome, uint64_t *ret_handle,
                  struct adp_name *ret_id)
{
    struct adp_ticket_slot *slot = NULL;
    uint64_t use = 0;
    if (handle) {
        slot = claim_by_handle(lane->region, handle, &use);
    } else if (id->p) {
        uint32_t i = 0, lanes = adp_region_shape(lane->region)->lanes;
        for (uint32_t l = 1; !slot && l <= lanes; l++) {
            slot = claim_by_id(lane->region, l, id, &use, &i);
            if (slot)
                handle = handle_of(l, i, use);
        }
    }
    if (!slot)
        return ADP_ENOENT;
    deliver(generations, slot, outcome, lane->call);
    *ret_handle = handle;
    ret_id->p = NULL;
    if (slot->has_id) {
        memcpy(ret_id->own, slot->id, slot->id_len);
        ret_id->p = ret_id->own;
        ret_id->n = slot->id_len;
    }
    release(slot, use, lane->call);
    return 0;
}

int adp_ticket_settle(struct adp_lane *lane, struct adp_generations *generations,
                      uint64_t handle, const struct adp_name *id,
                      const struct adp_outcome *outcome, uint64_t *ret_handle,
                      struct adp_name *ret_id)
{
    /* Whatever generation the ticket is of: whoever moves a policy's state waits for us. */
    adp_generation_enter(lane->region, lane->number, generations);
    int code = settle(lane, generations, handle, id, outcome, ret_handle, ret_id);
    adp_generation_leave(lane->region, lane->number);
    return code;
}

/* `number` 0: of any generation. */
static uint64_t lose_waiting(struct adp_region *region, uint32_t lane,
                             struct adp_generations *generations, uint64_t number,
                             uint64_t now_ns)
{
    struct adp_ticket_slot *slots = adp_region_tickets(region, lane);
    uint32_t n = adp_region_shape(region)->tickets;
    struct adp_call *control = adp_region_call(region, 0);
    uint64_t lost = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
        uint32_t of = atomic_load_explicit(&slots[i].generation, memory_order_relaxed);
        if ((state & PHASE) == WAITING && (!number || of == number) &&
            lose(&slots[i], state >> 2, control, generations, now_ns))
            lost++;
    }
    return lost;
}

uint64_t adp_ticket_lose_all(struct adp_region *region, uint32_t lane,
                             struct adp_generations *generations, uint64_t now_ns)
{
    return lose_waiting(region, lane, generations, 0, now_ns);
}

uint64_t adp_ticket_lose_generation(struct adp_region *region, uint32_t lane,
                                    struct adp_generations *generations, uint64_t number,
                                    uint64_t now_ns)
{
    return lose_waiting(region, lane, generations, number, now_ns);
}

/* --- after another process (core/recover.h) --- */

/* Which of a slot's tickets their policies know. */
static void keep_known(struct adp_ticket_slot *slot, uint64_t taken_ns, bool same,
                       const uint64_t saved_ns[ADP_MAX_POLICIES])
{
    for (uint32_t i = 0; i < ADP_MAX_POLICIES; i++)
        if (!same || taken_ns > saved_ns[i])
            slot->ticket[i] = 0;
}

uint64_t adp_ticket_inherit(const struct adp_region *region, uint32_t lane,
                            const struct adp_generation *generation, uint64_t before,
                            const uint64_t saved_ns[ADP_MAX_POLICIES])
{
    struct adp_ticket_slot *slots = adp_region_tickets(region, lane);
    uint32_t n = adp_region_shape(region)->tickets;
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct adp_ticket_slot *slot = &slots[i];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) == FREE)
            continue;
        /* Died while it was settled: no policy of ours has seen that outcome. */
        bool same =
            atomic_load_explicit(&slot->generation, memory_order_relaxed) == before;
        keep_known(slot, slot->deadline_ns - generation->ticket_ns, same, saved_ns);
        if (slot->n_tickets > ADP_MAX_POLICIES)
            slot->n_tickets = 0;
        if (slot->id_len > ADP_ID_MAX)
            slot->has_id = slot->id_len = 0;
        atomic_store_explicit(&slot->generation, generation->number,
                              memory_order_relaxed);
        atomic_store_explicit(&slot->state, state_of(state >> 2, WAITING),
                              memory_order_release);
        waiting++;
    }
    return waiting;
}

void adp_ticket_resume(struct adp_lane *lane)
{
    const struct adp_ticket_slot *slots = adp_region_tickets(lane->region, lane->number);
    uint32_t n = adp_region_shape(lane->region)->tickets, next = 0;
    uint64_t first = atomic_load_explicit(&slots[0].state, memory_order_relaxed) >> 2;
    uint64_t seq = atomic_load_explicit(
        &adp_region_ring(lane->region, lane->number)->next_seq, memory_order_relaxed);
    /* Each unslotted handle had a record, or will not be asked for. */
    lane->unslotted = (uint32_t)seq;
    if (!first)
        return;
    while (next < n &&
           atomic_load_explicit(&slots[next].state, memory_order_relaxed) >> 2 >= first)
        next++;
    lane->next_ticket = next + n;
    lane->sweep = next;
}
