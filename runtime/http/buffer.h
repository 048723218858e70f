/* SPDX-License-Identifier: MIT */
/* Bytes that grow, in blocks that are kept for the next one who needs some.
 *
 * A pool belongs to one server and its thread. It keeps at most ADP_HTTP_POOL_BLOCKS blocks of at
 * most ADP_HTTP_POOL_LARGEST bytes, so that a burst is not kept for ever. */
#ifndef ADP_HTTP_BUFFER_H
#define ADP_HTTP_BUFFER_H

#include <stddef.h>

#define ADP_HTTP_BLOCK        ((size_t)16384) /* the least that is allocated */
#define ADP_HTTP_POOL_BLOCKS  64u
#define ADP_HTTP_POOL_LARGEST ((size_t)262144)

struct adp_http_pool {
    char *blocks[ADP_HTTP_POOL_BLOCKS];
    size_t caps[ADP_HTTP_POOL_BLOCKS];
    unsigned n;
};

/* Zero is empty, and costs nothing. */
struct adp_http_buffer {
    char *bytes;
    size_t len, cap;
};

void adp_http_pool_finish(struct adp_http_pool *pool);

/* Room for n more bytes behind len, which the caller fills and counts. NULL: out of memory, the
 * buffer is as it was. Pointers into the buffer are void after it. [loop] */
char *adp_http_buffer_room(struct adp_http_pool *pool, struct adp_http_buffer *buffer,
                           size_t n);
/* 0 or UV_ENOMEM. [loop] */
int adp_http_buffer_append(struct adp_http_pool *pool, struct adp_http_buffer *buffer,
                           const void *bytes, size_t len);
/* Gives the memory back. [loop] */
void adp_http_buffer_release(struct adp_http_pool *pool, struct adp_http_buffer *buffer);

#endif
