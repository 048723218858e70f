/* SPDX-License-Identifier: MIT */
/* Saved state (worker.h): two copies under each name. The one that is written loses its
 * checksum first and gets it last, so a death in between leaves the other. */
#include "runtime/supervise/own.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint32_t NOWHERE = UINT32_MAX;

/* Never 0, which says that there is none. */
static uint64_t check_of(const struct adp_block *b, uint32_t i, uint32_t copy)
{
    const struct adp_state *s = &b->states[i];
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, s->name, sizeof s->name);
    XXH3_64bits_update(&state, &s->copy[copy].turn, 3 * sizeof(uint64_t));
    XXH3_64bits_update(&state, adp_block_state(b, i, copy), s->copy[copy].len);
    uint64_t digest = XXH3_64bits_digest(&state);
    return digest ? digest : 1;
}

static bool is_whole(const struct adp_block *b, uint32_t i, uint32_t copy)
{
    const struct adp_state *s = &b->states[i];
    uint64_t check = atomic_load_explicit(&s->copy[copy].check, memory_order_acquire);
    return check && s->copy[copy].len <= b->shape.state_bytes &&
           check == check_of(b, i, copy);
}

/* The copy that counts; NOWHERE: none does. */
static uint32_t newest(const struct adp_block *b, uint32_t i)
{
    const struct adp_state *s = &b->states[i];
    bool first = is_whole(b, i, 0), second = is_whole(b, i, 1);
    if (first && second)
        return s->copy[0].turn > s->copy[1].turn ? 0 : 1;
    return first ? 0 : second ? 1 : NOWHERE;
}

static uint32_t find(const struct adp_block *b, const char *name)
{
    for (uint32_t i = 0; i < ADP_STATES; i++)
        if (strncmp(b->states[i].name, name, ADP_POLICY_NAME) == 0)
            return i;
    return NOWHERE;
}

static void clear(struct adp_state *s)
{
    for (uint32_t copy = 0; copy < 2; copy++)
        atomic_store_explicit(&s->copy[copy].check, 0, memory_order_release);
    memset(s->name, 0, sizeof s->name);
}

void adp_state_clear_ordered(struct adp_worker *worker)
{
    for (uint32_t i = 0; i < ADP_STATES; i++) {
        struct adp_state *s = &worker->block.states[i];
        if (!adp_block_name_is_sound(s->name) ||
            adp_worker_order(worker, s->name) != ADP_ORDER_RESTORE)
            clear(s);
    }
}

const void *adp_worker_saved(const struct adp_worker *worker, const char *name,
                             size_t *ret_len, uint64_t *ret_saved_ns)
{
    uint32_t i = *name ? find(&worker->block, name) : NOWHERE;
    uint32_t copy = i == NOWHERE ? NOWHERE : newest(&worker->block, i);
    if (copy == NOWHERE)
        return NULL;
    *ret_len = worker->block.states[i].copy[copy].len;
    *ret_saved_ns = worker->block.states[i].copy[copy].saved_ns;
    return adp_block_state(&worker->block, i, copy);
}

void *adp_worker_save_begin(struct adp_worker *worker, const char *name, size_t cap)
{
    struct adp_block *b = &worker->block;
    size_t len = strnlen(name, ADP_POLICY_NAME);
    worker->is_saving = false;
    if (!len || len == ADP_POLICY_NAME || cap > b->shape.state_bytes)
        return NULL;
    uint32_t i = find(b, name);
    if (i == NOWHERE) {
        i = find(b, "");
        if (i == NOWHERE)
            return NULL;
        clear(&b->states[i]);
        memcpy(b->states[i].name, name, len);
        if (!adp_block_name_is_sound(b->states[i].name)) {
            clear(&b->states[i]);
            return NULL;
        }
    }
    worker->saving = i;
    worker->saving_copy = newest(b, i) == 0 ? 1 : 0;
    worker->is_saving = true;
    atomic_store_explicit(&b->states[i].copy[worker->saving_copy].check, 0,
                          memory_order_seq_cst);
    return adp_block_state(b, i, worker->saving_copy);
}

void adp_worker_save_end(struct adp_worker *worker, size_t len, uint64_t now_ns)
{
    struct adp_block *b = &worker->block;
    if (!worker->is_saving || !len || len > b->shape.state_bytes)
        return;
    struct adp_state *s = &b->states[worker->saving];
    uint32_t copy = worker->saving_copy;
    uint64_t turn = s->copy[0].turn > s->copy[1].turn ? s->copy[0].turn : s->copy[1].turn;
    s->copy[copy].turn = turn + 1;
    s->copy[copy].len = len;
    s->copy[copy].saved_ns = now_ns;
    /* Release: the bytes are there before their checksum. */
    atomic_store_explicit(&s->copy[copy].check, check_of(b, worker->saving, copy),
                          memory_order_release);
    worker->is_saving = false;
}
