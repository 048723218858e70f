/* SPDX-License-Identifier: MIT */
/* Tickets (core/ticket.h has the state diagram and the invariants). */
#include "core/ticket.h"

#include <string.h>

enum { FREE, WAITING, SETTLING, PHASE = 3, TRIES = 8, LOOKS = 4, ROUND = 8, WALKS = 64 };

static uint64_t state_of(uint64_t use, unsigned phase)
{
    return use << 2 | phase;
}

static uint64_t handle_of(uint32_t lane, uint32_t slot, uint64_t number)
{
    return (uint64_t)lane << 56 | (uint64_t)slot << 32 | (number & 0xffffffffu);
}

/* What uses are counted from in handles: as random as the region's instance. */
static uint32_t first_of(const struct adp_region *region)
{
    return (uint32_t)(adp_region_instance(region) * 0x9e3779b97f4a7c15 >> 32);
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

/* Of the chain that an id of this hash is in, the newest turn. */
static _Atomic uint32_t *head_of(_Atomic uint32_t *index, uint32_t mask, uint64_t hash)
{
    return index + ((uint32_t)hash & (ADP_INDEX_PER_TICKET * (mask + 1) - 1));
}

/* Of what waits on, when it is too old: invariant 4. */
static void note_deadline(uint64_t *earliest_ns, const struct adp_ticket_slot *slot)
{
    if (slot->deadline_ns < *earliest_ns)
        *earliest_ns = slot->deadline_ns;
}

/* Something that was linked again is too old, wherever it is: some slots of the lane at
 * each decision, until all were looked at. */
static void look_around(struct adp_lane *lane, struct adp_generations *generations,
                        uint64_t now_ns)
{
    for (int i = 0; i < ROUND; i++) {
        uint32_t at = lane->round++ & lane->ticket_mask;
        struct adp_ticket_slot *slot = &lane->tickets[at];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (at == 0)
            lane->round_ns = UINT64_MAX;
        if ((state & PHASE) == WAITING) {
            if (now_ns <= slot->deadline_ns)
                note_deadline(&lane->round_ns, slot);
            else if (lose(slot, state >> 2, lane->call, generations, now_ns))
                count_lost(lane);
        }
        if (at == lane->ticket_mask) {
            lane->overdue_ns = lane->round_ns;
            return;
        }
    }
}

/* Gives up what has waited too long, the oldest first: slots are taken in turn, so the
 * cursor follows next_ticket and stops at the first that may still wait. Several looks,
 * so that it catches up with a slot taken per decision. */
static void age(struct adp_lane *lane, struct adp_generations *generations,
                uint64_t now_ns)
{
    const uint32_t mask = lane->ticket_mask;
    if (now_ns > lane->overdue_ns)
        look_around(lane, generations, now_ns);
    if (lane->next_ticket - lane->sweep > mask)
        lane->sweep = lane->next_ticket - mask - 1; /* those before were passed in turn */
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

/* Puts the slot of a turn before those of its chain; the head is still to be told. Release,
 * here and for the turn: whoever sees that this slot is of another turn sees what was linked
 * before that. */
static void index_prepare(struct adp_ticket_slot *slot, _Atomic uint32_t *head)
{
    uint32_t older = atomic_load_explicit(head, memory_order_relaxed);
    atomic_store_explicit(&slot->older, older, memory_order_release);
}

/* Its turn has come, and it waits: it is the newest of its chain from now on. What is
 * written here nobody else writes, and whoever settles does not read. */
static void link_again(struct adp_lane *lane, struct adp_ticket_slot *slot, uint32_t turn)
{
    uint64_t hash = atomic_load_explicit(&slot->id_hash, memory_order_relaxed);
    _Atomic uint32_t *head = head_of(lane->index, lane->ticket_mask, hash);
    if (slot->has_id)
        index_prepare(slot, head);
    atomic_store_explicit(&slot->turn, turn, memory_order_release);
    if (slot->has_id) /* Release: whoever sees the turn here sees it in its slot. */
        atomic_store_explicit(head, turn, memory_order_release);
    note_deadline(&lane->overdue_ns, slot);
    note_deadline(&lane->round_ns, slot);
}

/* A slot that waits, at its turn: passed by, or given up when it is too old, or when too
 * many wait. True: passed by. */
static bool pass(struct adp_lane *lane, struct adp_generations *generations,
                 struct adp_ticket_slot *slot, uint64_t use, uint64_t now_ns,
                 uint32_t turn)
{
    if (lane->steps && now_ns <= slot->deadline_ns) {
        lane->steps--;
        link_again(lane, slot, turn);
        return true;
    }
    if (lose(slot, use, lane->call, generations, now_ns))
        count_lost(lane);
    return false;
}

/* The next slot in turn that waits for nothing; NULL when other threads hold all that we
 * tried. Ends: each slot that is passed takes one of a lane's steps. */
static struct adp_ticket_slot *next_slot(struct adp_lane *lane,
                                         struct adp_generations *generations,
                                         uint64_t now_ns, uint32_t *ret_turn)
{
    const uint32_t n = lane->ticket_mask + 1;
    if (lane->next_ticket - lane->free_turn <= n)
        lane->steps =
            lane->steps + ADP_TICKET_STEPS < n ? lane->steps + ADP_TICKET_STEPS : n;
    for (int i = 0; i < TRIES;) {
        uint32_t turn = lane->next_ticket++;
        struct adp_ticket_slot *slot = &lane->tickets[turn & lane->ticket_mask];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) == WAITING &&
            pass(lane, generations, slot, state >> 2, now_ns, turn))
            continue;
        if ((state & PHASE) == FREE)
            lane->free_turn = turn;
        state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if ((state & PHASE) == FREE) {
            *ret_turn = turn;
            return slot;
        }
        i++;
    }
    return NULL;
}

void adp_ticket_foresee(const struct adp_lane *lane, const struct adp_name *id)
{
    __builtin_prefetch((const void *)head_of(lane->index, lane->ticket_mask, id->hash),
                       1);
}

static void set_id(struct adp_ticket_slot *slot, const struct adp_name *id)
{
    uint64_t word[ADP_ID_MAX / 8];
    memcpy(word, id->own, sizeof word);
    for (uint32_t i = 0; i < ADP_ID_MAX / 8; i++)
        atomic_store_explicit(&slot->id[i], word[i], memory_order_relaxed);
}

static void get_id(const struct adp_ticket_slot *slot, char to[ADP_ID_MAX])
{
    for (uint32_t i = 0; i < ADP_ID_MAX / 8; i++) {
        uint64_t word = atomic_load_explicit(&slot->id[i], memory_order_relaxed);
        memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

static uint64_t handle_unslotted(struct adp_lane *lane)
{
    return handle_of(lane->number, ADP_TICKET_NO_SLOT,
                     lane->first_use + ++lane->unslotted);
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
    _Atomic uint32_t *head = head_of(lane->index, mask, id->hash);
    if (id->p) {
        set_id(slot, id);
        index_prepare(slot, head);
    }
    atomic_store_explicit(&slot->turn, turn, memory_order_release);
    atomic_store_explicit(&slot->id_hash, id->hash, memory_order_relaxed);
    tally(&lane->call->taken[generation->number % ADP_GENERATIONS]);
    /* Release: whoever claims sees all of the above. */
    atomic_store_explicit(&slot->state, state_of(use, WAITING), memory_order_release);
    if (id->p) /* Release: whoever sees the turn here sees it in its slot. */
        atomic_store_explicit(head, turn, memory_order_release);
    const struct adp_ticket_slot *next = &lane->tickets[(turn + 1) & mask];
    __builtin_prefetch(next, 1);
    __builtin_prefetch((const char *)next + ADP_LINE_BYTES, 1);
    return handle_of(lane->number, turn & mask, lane->first_use + use);
}

static uint64_t slot_hash(const struct adp_ticket_slot *slot)
{
    return atomic_load_explicit(&slot->id_hash, memory_order_relaxed);
}

static bool same_id(const struct adp_ticket_slot *slot, const struct adp_name *id)
{
    char own[ADP_ID_MAX];
    get_id(slot, own);
    return memcmp(own, id->own, sizeof own) == 0;
}

/* Whether the slot, which had `state` when it was looked at, waits for this id. What is read
 * here is of that use if it can be claimed: until then the lane does not write it. */
static bool waits_for(const struct adp_ticket_slot *slot, uint64_t state,
                      const struct adp_name *id)
{
    return (state & PHASE) == WAITING && slot_hash(slot) == id->hash && same_id(slot, id);
}

/* Claims the first slot that waits for this id in the chain from `turn` on, as far as to
 * `seen`, which is older. Each step is to an older turn, so there are fewer than between
 * the two. */
static struct adp_ticket_slot *claim_in_chain(struct adp_ticket_slot *slots,
                                              uint32_t mask, const struct adp_name *id,
                                              uint32_t turn, uint32_t seen,
                                              uint64_t *ret_use)
{
    for (;;) {
        struct adp_ticket_slot *slot = &slots[turn & mask];
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (waits_for(slot, state, id) && claim(slot, state >> 2)) {
            *ret_use = state >> 2;
            return slot;
        }
        /* Acquire: with what tells that it was linked anew, its chain's head. */
        uint32_t older = atomic_load_explicit(&slot->older, memory_order_acquire);
        if (atomic_load_explicit(&slot->turn, memory_order_acquire) != turn ||
            turn - older - 1 >= turn - seen - 1)
            return NULL;
        turn = older;
    }
}

/* Looks an id up on one lane and claims its newest waiting slot: invariant 6. */
static struct adp_ticket_slot *claim_by_id(const struct adp_region *region, uint32_t lane,
                                           const struct adp_name *id, uint64_t *ret_use,
                                           uint32_t *ret_i)
{
    struct adp_ticket_slot *slots = adp_region_tickets(region, lane);
    uint32_t mask = adp_region_shape(region)->tickets - 1;
    const _Atomic uint32_t *head =
        head_of(adp_region_index(region, lane), mask, id->hash);
    uint32_t newest = atomic_load_explicit(head, memory_order_acquire);
    uint32_t seen = newest - mask - 1;
    for (int i = 0; i < WALKS; i++) {
        struct adp_ticket_slot *slot =
            claim_in_chain(slots, mask, id, newest, seen, ret_use);
        if (slot) {
            *ret_i = (uint32_t)(slot - slots);
            return slot;
        }
        uint32_t now = atomic_load_explicit(head, memory_order_acquire);
        if (now == newest)
            return NULL;
        seen = now - newest > mask ? now - mask - 1 : newest;
        newest = now;
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
    if ((uint32_t)use + first_of(region) != (uint32_t)handle || !claim(slot, use))
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
                handle = handle_of(l, i, use + first_of(lane->region));
        }
    }
    if (!slot)
        return ADP_ENOENT;
    deliver(generations, slot, outcome, lane->call);
    *ret_handle = handle;
    ret_id->p = NULL;
    if (slot->has_id) {
        get_id(slot, ret_id->own);
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

/* The turn behind the newest that the slots tell of; 0: none was used. */
static uint32_t next_turn(const struct adp_ticket_slot *slots, uint32_t n)
{
    uint32_t newest = atomic_load_explicit(&slots[0].turn, memory_order_relaxed);
    bool used = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t turn = atomic_load_explicit(&slots[i].turn, memory_order_relaxed);
        if (turn - newest < UINT32_MAX / 2)
            newest = turn;
        used |= atomic_load_explicit(&slots[i].state, memory_order_relaxed) != 0;
    }
    return used ? newest + 1 : 0;
}

/* Chains anew what waits, in turn: whatever died may have left anything. */
static void chain_anew(const struct adp_region *region, uint32_t lane)
{
    struct adp_ticket_slot *slots = adp_region_tickets(region, lane);
    _Atomic uint32_t *index = adp_region_index(region, lane);
    uint32_t n = adp_region_shape(region)->tickets, turn = next_turn(slots, n) - n;
    for (uint32_t i = 0; i < ADP_INDEX_PER_TICKET * n; i++)
        atomic_store_explicit(&index[i], turn, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++, turn++) {
        struct adp_ticket_slot *slot = &slots[turn & (n - 1)];
        uint64_t hash = atomic_load_explicit(&slot->id_hash, memory_order_relaxed);
        _Atomic uint32_t *head = head_of(index, n - 1, hash);
        atomic_store_explicit(&slot->turn, turn, memory_order_relaxed);
        index_prepare(slot, head);
        if (slot->has_id)
            atomic_store_explicit(head, turn, memory_order_release);
    }
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
    chain_anew(region, lane);
    return waiting;
}

void adp_ticket_resume(struct adp_lane *lane)
{
    const struct adp_ticket_slot *slots = adp_region_tickets(lane->region, lane->number);
    uint32_t n = adp_region_shape(lane->region)->tickets;
    uint64_t seq = atomic_load_explicit(
        &adp_region_ring(lane->region, lane->number)->next_seq, memory_order_relaxed);
    /* Each unslotted handle had a record, or will not be asked for. */
    lane->unslotted = (uint32_t)seq;
    lane->first_use = first_of(lane->region);
    lane->next_ticket = next_turn(slots, n);
    lane->sweep = lane->next_ticket ? lane->next_ticket - n : 0;
    lane->steps = n;
    lane->free_turn = lane->next_ticket;
    lane->round = 0;
    /* Of those that were there, however long: looked at first. */
    lane->overdue_ns = lane->next_ticket ? 0 : UINT64_MAX;
    lane->round_ns = UINT64_MAX;
}
