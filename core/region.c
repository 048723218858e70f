/* SPDX-License-Identifier: MIT */
/* The region: where everything lies, and the producer's side of a ring (core/region.h).
 */
#include "core/region.h"

#include "core/record.h"

#include <stdlib.h>
#include <string.h>

enum {
    REGION_MAGIC = 0x52504441 /* "ADPR" */,
    SPARE_SNAPSHOTS = ADP_GENERATIONS + 1 /* one each, and the one being filled */
};

/* First bytes of the block; for whoever maps it, never read back by us. */
struct block_head {
    uint32_t magic, version;
    uint64_t instance;
    struct adp_shape shape;
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t current[ADP_GENERATIONS];
    _Atomic uint64_t newest;
};

struct adp_region {
    uint8_t *at;
    struct adp_shape shape;
    uint64_t instance;
    size_t snapshots; /* offset */
    struct place {    /* of each lane: offsets, since every record asks for them */
        size_t head, bytes;
    } place[ADP_MAX_LANES + 1];
};

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

static size_t round_up(size_t n)
{
    return (n + ADP_LINE_BYTES - 1) & ~(size_t)(ADP_LINE_BYTES - 1);
}

static bool shape_is_sound(const struct adp_shape *s)
{
    return s->lanes >= 1 && s->lanes <= ADP_MAX_LANES && is_power_of_two(s->ring_bytes) &&
           is_power_of_two(s->control_bytes) && is_power_of_two(s->tickets) &&
           s->ring_bytes >= 1u << 16 && s->control_bytes >= 1u << 16 &&
           s->ring_bytes <= 1u << 30 && s->control_bytes <= 1u << 30 &&
           s->tickets >= 16 && s->tickets <= 1u << 20;
}

/* A lane: ring head, call slot, tickets, index, ring bytes. The control lane has the
 * first and the last only. */
static size_t lane_fixed(void)
{
    return round_up(sizeof(struct adp_ring)) + round_up(sizeof(struct adp_call));
}

static size_t ticket_bytes(const struct adp_shape *s)
{
    return round_up(s->tickets * sizeof(struct adp_ticket_slot)) +
           round_up((size_t)s->tickets * ADP_INDEX_PER_TICKET * sizeof(uint32_t));
}

static void lay_out(struct adp_region *r)
{
    const struct adp_shape *s = &r->shape;
    size_t at = round_up(sizeof(struct block_head));
    for (uint32_t lane = 0; lane <= s->lanes; lane++) {
        size_t bytes = at + lane_fixed() + (lane ? ticket_bytes(s) : 0);
        r->place[lane] = (struct place) { at, bytes };
        at = bytes + round_up(adp_region_ring_bytes(r, lane));
    }
    r->snapshots = at;
}

uint32_t adp_region_snapshots(const struct adp_region *region)
{
    return region->shape.lanes + SPARE_SNAPSHOTS;
}

size_t adp_region_bytes(const struct adp_shape *shape)
{
    if (!shape_is_sound(shape))
        return 0;
    struct adp_region r = { .shape = *shape };
    lay_out(&r);
    return r.snapshots + adp_region_snapshots(&r) * round_up(sizeof(struct adp_snapshot));
}

int adp_region_attach(struct adp_region **ret, void *memory, size_t bytes,
                      const struct adp_shape *shape, uint64_t instance,
                      struct adp_error *err)
{
    size_t need = adp_region_bytes(shape);
    if (!need || bytes < need)
        return adp_error_set(err, ADP_EINVAL,
                             "a region of this shape needs %zu bytes, got %zu", need,
                             bytes);
    struct adp_region *r = calloc(1, sizeof *r);
    if (!r)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    r->at = memory;
    r->shape = *shape;
    r->instance = instance;
    lay_out(r);
    *ret = r;
    return 0;
}

int adp_region_create(struct adp_region **ret, void *memory, size_t bytes,
                      const struct adp_shape *shape, uint64_t instance,
                      struct adp_error *err)
{
    int code = adp_region_attach(ret, memory, bytes, shape, instance, err);
    if (code < 0)
        return code;
    struct block_head *head = memory;
    head->magic = REGION_MAGIC;
    head->version = 1;
    head->instance = instance;
    head->shape = *shape;
    return 0;
}

void adp_region_destroy(struct adp_region *region)
{
    free(region);
}

const struct adp_shape *adp_region_shape(const struct adp_region *region)
{
    return &region->shape;
}

uint64_t adp_region_instance(const struct adp_region *region)
{
    return region->instance;
}

static uint8_t *lane_at(const struct adp_region *r, uint32_t lane)
{
    return r->at + r->place[lane].head;
}

struct adp_ring *adp_region_ring(const struct adp_region *region, uint32_t lane)
{
    return (struct adp_ring *)(void *)lane_at(region, lane);
}

struct adp_call *adp_region_call(const struct adp_region *region, uint32_t lane)
{
    return (struct adp_call *)(void *)(lane_at(region, lane) +
                                       round_up(sizeof(struct adp_ring)));
}

struct adp_ticket_slot *adp_region_tickets(const struct adp_region *region, uint32_t lane)
{
    return (struct adp_ticket_slot *)(void *)(lane_at(region, lane) + lane_fixed());
}

_Atomic uint32_t *adp_region_index(const struct adp_region *region, uint32_t lane)
{
    return (_Atomic uint32_t *)(void *)(lane_at(region, lane) + lane_fixed() +
                                        round_up(region->shape.tickets *
                                                 sizeof(struct adp_ticket_slot)));
}

uint8_t *adp_region_bytes_of(const struct adp_region *region, uint32_t lane)
{
    return region->at + region->place[lane].bytes;
}

uint32_t adp_region_ring_bytes(const struct adp_region *region, uint32_t lane)
{
    return lane ? region->shape.ring_bytes : region->shape.control_bytes;
}

struct adp_snapshot *adp_region_snapshot(const struct adp_region *region, uint32_t i)
{
    return (struct adp_snapshot *)(void *)(region->at + region->snapshots +
                                           i * round_up(sizeof(struct adp_snapshot)));
}

_Atomic uint64_t *adp_region_current(const struct adp_region *region, uint64_t generation)
{
    struct block_head *head = (struct block_head *)(void *)region->at;
    return &head->current[generation % ADP_GENERATIONS];
}

_Atomic uint64_t *adp_region_newest(const struct adp_region *region)
{
    struct block_head *head = (struct block_head *)(void *)region->at;
    return &head->newest;
}

/* Where a position lies in the ring. The lowest bits are 0 where the ring is sound. */
static uint64_t offset_of(uint64_t position, uint64_t size)
{
    return position & (size - 8);
}

static uint64_t number(struct adp_ring *ring)
{
    uint64_t seq = atomic_load_explicit(&ring->next_seq, memory_order_relaxed);
    atomic_store_explicit(&ring->next_seq, seq + 1, memory_order_relaxed);
    return seq;
}

static bool has_room(struct adp_ring *ring, uint64_t tail, uint64_t need, uint64_t size)
{
    if (tail + need - ring->seen_head <= size)
        return true;
    /* Acquire: the consumer has finished reading what we are about to overwrite. */
    ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
    return tail + need - ring->seen_head <= size;
}

uint32_t adp_ring_most(const struct adp_region *region, uint32_t lane)
{
    return adp_region_ring_bytes(region, lane) / 2;
}

void *adp_ring_begin(const struct adp_region *region, uint32_t lane, uint32_t bytes)
{
    struct adp_ring *ring = adp_region_ring(region, lane);
    uint8_t *at = adp_region_bytes_of(region, lane);
    uint64_t size = adp_region_ring_bytes(region, lane);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t need = ((uint64_t)bytes + 7) & ~7ull;
    uint64_t left = size - offset_of(tail, size); /* to the end of the ring */
    uint64_t seq = number(ring);
    uint64_t pad = need > left ? left : 0;
    if (need > size / 2 || !has_room(ring, tail, need + pad, size)) {
        uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
        atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
        return NULL;
    }
    if (pad) {
        /* Eight bytes are always left: records are multiples of eight. */
        uint32_t words[2] = { (uint32_t)pad, ADP_REC_PAD };
        memcpy(at + offset_of(tail, size), words, sizeof words);
        tail += pad;
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    struct adp_record *record = (struct adp_record *)(void *)(at + offset_of(tail, size));
    record->bytes = (uint32_t)need;
    record->seq = seq;
    record->reserved = 0;
    return record;
}

/* The next record's place, which was read by another processor since: on its way while the
 * host does something else. A fetch beyond the ring would do no harm. */
static void fetch_next(const uint8_t *at, uint64_t offset, uint64_t size)
{
    enum { USUAL = 320 }; /* bytes of a decision on a snapshot */
    for (uint64_t i = 0; i < USUAL && offset + i < size; i += ADP_LINE_BYTES)
        __builtin_prefetch(at + offset + i, 1);
}

void adp_ring_commit(const struct adp_region *region, uint32_t lane, uint32_t bytes)
{
    struct adp_ring *ring = adp_region_ring(region, lane);
    uint8_t *at = adp_region_bytes_of(region, lane);
    uint64_t size = adp_region_ring_bytes(region, lane);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    struct adp_record *record = (struct adp_record *)(void *)(at + offset_of(tail, size));
    record->bytes = (bytes + 7u) & ~7u;
    tail += record->bytes;
    /* Release: the record is whole before the consumer can see it. */
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    fetch_next(at, tail & (size - 1), size);
}
