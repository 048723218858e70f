/* SPDX-License-Identifier: MIT */
/* The region: one block of memory of fixed size, a lane's part of it there before the lane
 * is used, in which everything that outlives a request is kept with numbers instead of
 * pointers: rings of records, call slots, tickets, the signal vectors in force. In a host's
 * own process it is private memory; under a supervisor the same block is shared with the
 * process that drains it, so the drain trusts nothing in it.
 *
 *   header | lane 0 (control) | lane 1 … n | snapshots 0 … n+16
 *
 *   each lane: ring head, call slot, tickets, id index, ring bytes
 *
 *  1. One ring, one producer, one consumer. Nobody waits for the other: a full ring drops
 *     the newest record, whose number is used up, so the gap in the numbers is the exact
 *     loss.
 *  2. `tail` advances last (release): a death in the middle of a record leaves no record.
 *  3. No cache line is written by two threads, except a ticket's own when its outcome
 *     arrives.
 *  4. The shape is fixed by adp_region_create; both sides compute every offset from their
 *     own copy of the shape, never from numbers in the region. What a producer writes lies
 *     within its ring, whatever the ring's positions say. */
#ifndef ADP_CORE_REGION_H
#define ADP_CORE_REGION_H

#include "core/error.h"
#include "core/replicas.h"
#include "core/signal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_MAX_LANES                                                                    \
    64u                     /* open to hosts; lane 0 is the publisher's and comes on top \
                             */
#define ADP_MAX_POLICIES 8u /* that may run on one request */
#define ADP_GENERATIONS  16u /* live at once: in force, or waiting for tickets */
#define ADP_ID_MAX                                                                       \
    64u /* bytes of a request id, tenant, session, class kept as they are */
#define ADP_LINE_BYTES 64u /* cache line */

struct adp_shape {
    uint32_t lanes;         /* 1 … ADP_MAX_LANES, without the control lane */
    uint32_t ring_bytes;    /* of each lane; a power of two, at least 64 KiB */
    uint32_t control_bytes; /* of the control lane; a power of two */
    uint32_t tickets;       /* per lane; a power of two */
};

/* Producer and consumer positions: bytes ever written and read. Each on its own cache
 * line. */
struct adp_ring {
    _Alignas(
        ADP_LINE_BYTES) _Atomic uint64_t tail; /* producer; release after the record */
    _Atomic uint64_t
        next_seq;             /* producer: records ever numbered, dropped ones included */
    _Atomic uint64_t dropped; /* producer */
    uint64_t seen_head;       /* producer's last look at head */
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t head; /* consumer; release after reading */
};

/* What a lane is doing right now. Written before each policy call; read by whoever
 * reclaims generations and snapshots, and by a supervisor that looks for hangs. Behind it
 * what the lane did with tickets of each generation, by number % ADP_GENERATIONS: what
 * all lanes took, less what all settled, still waits. */
struct adp_call {
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t generation; /* 0: not inside */
    _Atomic uint64_t snapshot;                            /* pool index + 1; 0: none */
    _Atomic uint64_t policy;   /* the one it is in: generation's number << 8 | index */
    _Atomic uint64_t start_ns; /* mono; 0: not in a policy */
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t taken[ADP_GENERATIONS];
    _Atomic uint64_t settled[ADP_GENERATIONS];
    /* The request that is being decided, for whoever finds the lane after its process has
     * died (core/recover.h); while it lives only its own thread reads this. */
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t asked; /* enum adp_asked; 0: none */
    uint64_t mono_ns, wall_ns;
    uint64_t present, number; /* of signals; of the snapshot, 0: none */
    double draw;
    /* What the governing policy said of it, once `asked` says that it did: where others are asked
     * after it. */
    struct {
        uint32_t action, reason, set, binding, retry_after_ms, fault;
        double margin, p;
        uint64_t decide_ns;
    } said;
    char id[ADP_ID_MAX];
    /* By whoever found the lane, for the next process: what its records say is told to the host,
     * and the number of the first of them. */
    struct {
        uint64_t at;
        uint32_t action, reason, retry_after_ms, fault, status;
        _Atomic uint32_t is; /* 0: nothing; 1; 2: the request is governed */
    } told;
};

/* In adp_call.asked, beside: bits 8 … 15: policy i rejects on error; 16 … 19: enum
 * adp_profile; 24 … 31: bytes of the id. */
enum adp_asked {
    ADP_ASKED = 1u,
    ADP_ASKED_HAS_ID = 2u,
    ADP_ASKED_GOVERNED = 4u,
    ADP_ASKED_INLINE = 8u, /* metrics came with it */
    ADP_ASKED_SAID = 16u   /* the governing policy has answered */
};
enum { ADP_ASKED_REJECTS = 8, ADP_ASKED_PROFILE = 16, ADP_ASKED_ID = 24 }; /* shifts */

/* A decision that waits for its outcome. */
struct adp_ticket_slot {
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t state; /* use count << 2 | phase */
    _Atomic uint64_t id_hash;                        /* XXH3-64 of the id as recorded */
    uint64_t deadline_ns;                            /* mono */
    _Atomic uint32_t generation;
    uint8_t id_len, n_tickets, has_id, reserved;
    _Atomic uint32_t turn;               /* it was taken last, by its lane's count */
    _Atomic uint32_t older;              /* turn before it in its chain (core/ticket.h) */
    _Atomic uint64_t id[ADP_ID_MAX / 8]; /* zeros behind it */
    uint64_t ticket[ADP_MAX_POLICIES];   /* 0: that policy set none. The first three end
                                            the second cache line: more are rare */
};

/* The signal vector that decisions are made on. Immutable while any call slot names it.
 */
struct adp_snapshot {
    uint64_t number; /* from 1 */
    uint64_t mono_ns;
    uint64_t first_expiry_ns; /* the earliest of expires_ns among those present */
    uint64_t present;         /* bit i: signal i of the set */
    uint32_t n, reserved;
    double value[ADP_MAX_KNOWN];
    uint64_t expires_ns[ADP_MAX_KNOWN];
    struct adp_replicas replicas;
};

struct adp_region; /* one side's view of a block: its own copy of the shape, and the
                      address */

/* Bytes a block of this shape needs; 0 when the shape breaks its bounds. */
size_t adp_region_bytes(const struct adp_shape *shape);

/* Formats `memory` (zeroed by the caller, ADP_LINE_BYTES aligned, adp_region_bytes long,
 * alive as long as the view) and makes a view of it; `instance` names this writer in the
 * log. */
int adp_region_create(struct adp_region **ret, void *memory, size_t bytes,
                      const struct adp_shape *shape, uint64_t instance,
                      struct adp_error *err);
/* A view of a block that another process has formatted, and uses too, or used before it
 * died; the shape and the instance come from there, by a way that is trusted. Writes
 * nothing. */
int adp_region_attach(struct adp_region **ret, void *memory, size_t bytes,
                      const struct adp_shape *shape, uint64_t instance,
                      struct adp_error *err);
void adp_region_destroy(struct adp_region *region);

const struct adp_shape *adp_region_shape(const struct adp_region *region);
uint64_t adp_region_instance(const struct adp_region *region);
uint32_t adp_region_snapshots(const struct adp_region *region);

/* Lane 0 is the control lane; 1 … lanes are the hosts'. [any] */
struct adp_ring *adp_region_ring(const struct adp_region *region, uint32_t lane);
uint8_t *adp_region_bytes_of(const struct adp_region *region, uint32_t lane);
uint32_t adp_region_ring_bytes(const struct adp_region *region, uint32_t lane);
struct adp_call *adp_region_call(const struct adp_region *region, uint32_t lane);
struct adp_ticket_slot *adp_region_tickets(const struct adp_region *region,
                                           uint32_t lane);
/* Of each chain of ids the newest turn, by the lowest bits of their hash (core/ticket.h). */
enum { ADP_INDEX_PER_TICKET = 4 };
_Atomic uint32_t *adp_region_index(const struct adp_region *region, uint32_t lane);
struct adp_snapshot *adp_region_snapshot(const struct adp_region *region, uint32_t i);
/* Pool index + 1 of the snapshot that a generation decides on; 0: none yet. */
_Atomic uint64_t *adp_region_current(const struct adp_region *region,
                                     uint64_t generation);
/* The number of the newest generation whose words were recorded; 0: none yet. */
_Atomic uint64_t *adp_region_newest(const struct adp_region *region);

/* Around each call of a policy: which one the lane is in, since when. [hot] */
static inline void adp_call_begin(struct adp_call *call, uint64_t generation, uint32_t i,
                                  uint64_t now_ns)
{
    atomic_store_explicit(&call->policy, generation << 8 | i, memory_order_relaxed);
    /* Release: whoever sees a start sees the policy it is about. */
    atomic_store_explicit(&call->start_ns, now_ns, memory_order_release);
}

static inline void adp_call_end(struct adp_call *call)
{
    atomic_store_explicit(&call->start_ns, 0, memory_order_relaxed);
}

/* --- Producer side of a ring --- */

/* Bytes of the longest record that a lane's ring takes: half of it. What does not fit up to
 * the ring's end begins at its front, and what is passed over is less than the record: so
 * less than the whole ring is asked for, which an empty ring has, wherever it is. [any] */
uint32_t adp_ring_most(const struct adp_region *region, uint32_t lane);
/* A place for a record of `bytes` (at most adp_ring_most), or NULL when it is
 * full: the record's number is then used up and counted as dropped. [hot], one thread per
 * lane. */
void *adp_ring_begin(const struct adp_region *region, uint32_t lane, uint32_t bytes);
/* Publishes what begin gave. `bytes` may be smaller than was asked for. */
void adp_ring_commit(const struct adp_region *region, uint32_t lane, uint32_t bytes);

#endif
