/* SPDX-License-Identifier: MIT */
/* What supervisor and worker share; private to the room: the block of memory behind the
 * region, and the messages of the control socket.
 *
 *   region | head | places (worker) | left (supervisor) | states | unread of both
 *
 *  1. Sizes travel in the first message, never in the block.
 *  2. Places are written by the worker and read by the supervisor when the worker is dead, but
 *     for `use` and `word`, single words. `left` is written by the supervisor while there is no
 *     worker.
 *  3. States are the worker's alone; the supervisor never reads them. */
#ifndef ADP_SUPERVISE_BLOCK_H
#define ADP_SUPERVISE_BLOCK_H

#include "runtime/supervise/worker.h"

enum {
    ADP_STATES = 24,     /* names that something can be saved under */
    ADP_POLICY_NAME = 64 /* with its NUL */
};

struct adp_block_shape {
    struct adp_shape region;
    uint32_t connections, state_bytes;
};

/* Counts as words, for the worker to read at any time. */
struct adp_block_counts {
    _Atomic uint64_t word[sizeof(struct adp_supervised) / sizeof(uint64_t)];
};

struct adp_block_head {
    _Alignas(ADP_LINE_BYTES) struct adp_block_counts counts;
    /* The control thread's own call slot. */
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t within_ns; /* 0: in no policy */
    char within[ADP_POLICY_NAME];
    /* The supervisor's answer about the log: to which question, by its number; why not, "": it
     * is done. */
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t log_answered;
    char log_why[256];
    struct {
        _Alignas(ADP_LINE_BYTES) _Atomic uint64_t ns; /* 0: no such thread */
    } beat[ADP_WORKER_THREADS];
};

enum adp_place_bit {
    ADP_PLACE_HELD = 1u,
    ADP_PLACE_LAST = 2u,
    ADP_PLACE_READING = 4u,
    ADP_PLACE_WRITING = 8u
};

struct adp_place {
    _Alignas(ADP_LINE_BYTES) _Atomic uint64_t use; /* connections that were here */
    /* bits | owed << 8 | number of the oldest owed << 32, in one word */
    _Atomic uint64_t word;
    /* What was read and is no request yet: where it begins in the place's bytes | its end << 32.
     * Changed only while `word` says READING. */
    _Atomic uint64_t unread;
    uint64_t note;
    int32_t fd, reserved;               /* in `left`: its number in either process */
    struct adp_owed owed[ADP_OWED_MAX]; /* by number % ADP_OWED_MAX */
};

struct adp_state {
    char name[ADP_POLICY_NAME]; /* "": free */
    struct {
        _Atomic uint64_t check; /* of what follows and the bytes; 0: none */
        uint64_t turn, len, saved_ns;
    } copy[2];
};

struct adp_block { /* one side's view */
    struct adp_block_shape shape;
    uint8_t *at;
    size_t bytes;
    struct adp_block_head *head;
    struct adp_place *places, *left;
    struct adp_state *states;
    uint8_t *state_bytes; /* ADP_STATES × 2 × shape.state_bytes */
    /* ADP_UNREAD_MAX for each connection; pages that nobody wrote to are not there. */
    uint8_t *unread, *left_unread;
};

/* Bytes of a block; 0: the shape is out of bounds. */
size_t adp_block_bytes(const struct adp_block_shape *shape);
/* The view of a block at `at`. */
void adp_block_view(struct adp_block *block, const struct adp_block_shape *shape,
                    void *at);
static inline uint8_t *adp_block_state(const struct adp_block *block, uint32_t i,
                                       uint32_t copy)
{
    return block->state_bytes + ((size_t)i * 2 + copy) * block->shape.state_bytes;
}

static inline uint8_t *adp_block_unread(const struct adp_block *block, uint32_t slot)
{
    return block->unread + (size_t)slot * ADP_UNREAD_MAX;
}
static inline uint8_t *adp_block_left_unread(const struct adp_block *block, uint32_t i)
{
    return block->left_unread + (size_t)i * ADP_UNREAD_MAX;
}

/* [a-z0-9_#], ended within its room. */
bool adp_block_name_is_sound(const char name[ADP_POLICY_NAME]);

/* --- messages: SEQPACKET, one struct each, cut behind what its kind has */

#define ADP_SUPERVISE_ENV "ADMITPERF_WORKER" /* the control descriptor's number */

enum adp_message_kind {
    /* to the worker */
    ADP_MESSAGE_WELCOME = 1,
    ADP_MESSAGE_DRAIN, /* number: ms */
    ADP_MESSAGE_RELOAD,
    ADP_MESSAGE_STEP_DOWN, /* number: ms */
    /* to the supervisor */
    ADP_MESSAGE_KEEP, /* slot, use, number: index in left + 1, 0: new; and a descriptor */
    ADP_MESSAGE_DROP, /* slot, use */
    ADP_MESSAGE_READY,
    ADP_MESSAGE_POLICIES,
    ADP_MESSAGE_RELOADING,
    ADP_MESSAGE_RELOADED,
    ADP_MESSAGE_UNRELOADED,
    ADP_MESSAGE_LOG
};

struct adp_message {
    uint32_t kind, slot;
    uint64_t use;
    uint32_t number, reserved;
};

struct adp_policies_message {
    struct adp_message head; /* number: generation */
    uint32_t n, reserved;
    char name[ADP_MAX_POLICIES][ADP_POLICY_NAME];
};

enum { ADP_LOG_PATH = 4096 /* with its NUL */ };

struct adp_log_message {
    struct adp_message head; /* use: of the question; number: rotated files to keep */
    uint64_t rotate_bytes;
    uint32_t only_try, reserved;
    char path[ADP_LOG_PATH];
};

struct adp_welcome_message {
    struct adp_message head;
    struct adp_block_shape shape;
    uint64_t instance, restarts;
    int32_t supervisor; /* pid */
    int32_t region;     /* descriptor */
    int32_t listener[ADP_SUPERVISE_LISTENERS];
    uint32_t n_listeners, n_left, n_orders, records;
    struct {
        char name[ADP_POLICY_NAME];
        uint64_t deaths;
        uint32_t order, reserved;
    } order[ADP_STATES];
};

#endif
