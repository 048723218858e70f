/* SPDX-License-Identifier: MIT */
/* A chunked body (RFC 9112, 7.1), decoded where it lies.
 *
 * Written out here and not left to llhttp: in strict mode, too, 8.1 takes a bare LF for the last
 * line and folded trailers, bounds neither extensions nor leading zeros, and reports trailers as
 * header fields. The fuzz target holds that wherever both accept, both see the same bytes. */
#ifndef ADP_HTTP_CHUNKS_H
#define ADP_HTTP_CHUNKS_H

#include "runtime/http/head.h"

/* Zero at the first byte of the body. Offsets from there. */
struct adp_http_chunks {
    uint32_t state;
    uint32_t digits; /* of the size being read, leading zeros too */
    uint64_t left;   /* of the chunk */
    size_t read;     /* bytes looked at */
    size_t body_len; /* bytes decoded, at the front */
    size_t line;     /* bytes of the trailer line */
    bool done;       /* the body is whole; `read` is behind it */
};

/* Goes on in len bytes, of which those before `read` were decoded by earlier calls. NULL, or the
 * refusal. [any] */
const struct adp_http_refusal *
adp_http_chunks_decode(struct adp_http_chunks *chunks, char *bytes, size_t len,
                       const struct adp_http_limits *limits);

#endif
