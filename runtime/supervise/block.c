/* SPDX-License-Identifier: MIT */
/* The shared block: sizes and places (block.h). */
#include "runtime/supervise/block.h"

#include <string.h>
#include <unistd.h>

static const uint32_t MOST_CONNECTIONS = 65536, MOST_STATE = 1u << 20;

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t lay_out(struct adp_block *b)
{
    const struct adp_block_shape *s = &b->shape;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t head = round_up(adp_region_bytes(&s->region), page);
    size_t places = round_up(head + sizeof(struct adp_block_head), ADP_LINE_BYTES);
    size_t left = places + s->connections * sizeof(struct adp_place);
    size_t states = left + s->connections * sizeof(struct adp_place);
    size_t bytes = round_up(states + ADP_STATES * sizeof(struct adp_state), page);
    if (b->at) {
        b->head = (struct adp_block_head *)(void *)(b->at + head);
        b->places = (struct adp_place *)(void *)(b->at + places);
        b->left = (struct adp_place *)(void *)(b->at + left);
        b->states = (struct adp_state *)(void *)(b->at + states);
        b->state_bytes = b->at + bytes;
    }
    size_t unread = round_up(bytes + (size_t)ADP_STATES * 2 * s->state_bytes, page);
    size_t each = (size_t)s->connections * ADP_UNREAD_MAX;
    if (b->at) {
        b->unread = b->at + unread;
        b->left_unread = b->unread + each;
    }
    return unread + 2 * each;
}

size_t adp_block_bytes(const struct adp_block_shape *shape)
{
    struct adp_block b = { .shape = *shape };
    if (!adp_region_bytes(&shape->region) || !shape->connections ||
        shape->connections > MOST_CONNECTIONS || !shape->state_bytes ||
        shape->state_bytes > MOST_STATE || shape->state_bytes % ADP_LINE_BYTES)
        return 0;
    return lay_out(&b);
}

void adp_block_view(struct adp_block *block, const struct adp_block_shape *shape,
                    void *at)
{
    *block = (struct adp_block) { .shape = *shape, .at = at };
    block->bytes = lay_out(block);
}

bool adp_block_name_is_sound(const char name[ADP_POLICY_NAME])
{
    size_t n = strnlen(name, ADP_POLICY_NAME);
    if (!n || n == ADP_POLICY_NAME)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_#") == n;
}
