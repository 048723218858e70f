/* SPDX-License-Identifier: MIT */
/* Answers as bytes. */
#ifndef ADP_HTTP_ANSWER_H
#define ADP_HTTP_ANSWER_H

#include "runtime/http/buffer.h"
#include "runtime/http/http.h"

/* What of the request and the connection an answer's bytes depend on. */
struct adp_http_manner {
    bool head;        /* asked with HEAD */
    bool old;         /* in HTTP/1.0 */
    bool close;       /* the last one of its connection */
    bool stream;      /* of unknown length; the body is its first part */
    const char *date; /* "Sun, 06 Nov 1994 08:49:37 GMT"; "": none */
};

/* Appends it. UV_EINVAL as adp_http_answer; UV_ENOMEM. Nothing is appended on failure. */
int adp_http_answer_append(struct adp_http_pool *pool, struct adp_http_buffer *to,
                           const struct adp_http_answer *answer,
                           const struct adp_http_manner *manner);

/* Whether answers of this status have no body, and so no framing: 204, 304. */
bool adp_http_is_bodiless(uint32_t status);

/* Appends a chunk, or with len 0 the last one. UV_ENOMEM. */
int adp_http_chunk_append(struct adp_http_pool *pool, struct adp_http_buffer *to,
                          const void *part, size_t len);

/* Writes a Date, without the libc's locale or time zone. */
void adp_http_date_write(char to[30], int64_t wall_s);

#endif
