/* SPDX-License-Identifier: MIT */
/* Bytes that grow, in blocks that are kept. */
#include "runtime/http/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

void adp_http_pool_finish(struct adp_http_pool *pool)
{
    while (pool->n)
        free(pool->blocks[--pool->n]);
}

char *adp_http_buffer_room(struct adp_http_pool *pool, struct adp_http_buffer *buffer,
                           size_t n)
{
    if (n <= buffer->cap - buffer->len)
        return buffer->bytes + buffer->len;
    if (!buffer->bytes && pool->n) {
        pool->n--;
        buffer->bytes = pool->blocks[pool->n];
        buffer->cap = pool->caps[pool->n];
        return adp_http_buffer_room(pool, buffer, n);
    }
    if (n > SIZE_MAX / 4 - buffer->len)
        return NULL;
    size_t cap = buffer->cap ? buffer->cap : ADP_HTTP_BLOCK;
    while (cap - buffer->len < n)
        cap *= 2;
    char *bytes = realloc(buffer->bytes, cap);
    if (!bytes)
        return NULL;
    buffer->bytes = bytes;
    buffer->cap = cap;
    return bytes + buffer->len;
}

int adp_http_buffer_append(struct adp_http_pool *pool, struct adp_http_buffer *buffer,
                           const void *bytes, size_t len)
{
    if (!len)
        return 0;
    char *to = adp_http_buffer_room(pool, buffer, len);
    if (!to)
        return UV_ENOMEM;
    memcpy(to, bytes, len);
    buffer->len += len;
    return 0;
}

void adp_http_buffer_release(struct adp_http_pool *pool, struct adp_http_buffer *buffer)
{
    if (buffer->bytes && buffer->cap <= ADP_HTTP_POOL_LARGEST &&
        pool->n < ADP_HTTP_POOL_BLOCKS) {
        pool->blocks[pool->n] = buffer->bytes;
        pool->caps[pool->n] = buffer->cap;
        pool->n++;
    } else {
        free(buffer->bytes);
    }
    *buffer = (struct adp_http_buffer) { 0 };
}
