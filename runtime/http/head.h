/* SPDX-License-Identifier: MIT */
/* The head of a request: where it ends, and what it says.
 *
 * A head is looked for line by line as it arrives and parsed once, when all of it is there.
 * llhttp parses; what is looked at here besides is what llhttp 8.1 in strict mode lets pass: LF
 * without CR, folded fields, empty names, versions and protocols of its own choosing, any method,
 * any number of blanks, two Hosts or none. Lengths are read twice, here and by llhttp, and must
 * agree. */
#ifndef ADP_HTTP_HEAD_H
#define ADP_HTTP_HEAD_H

#include "runtime/http/http.h"

#define ADP_HTTP_MAX_FIELDS 256u

/* Why something is not a request, for its sender. Static. */
struct adp_http_refusal {
    uint32_t status;
    const char *reason; /* a short line */
};

/* How far the search for the end has come. Zero at the first byte; offsets from there. */
struct adp_http_scan {
    size_t start; /* of the request line, behind empty lines */
    size_t line;  /* of the line that has no end yet */
    size_t seen;  /* up to here there is no end of line */
    size_t end;   /* behind the empty line that ends the head; 0: not found yet */
    uint32_t lines;
};

/* Looks on in len bytes, of which those before were seen by the last call. Returns NULL and sets
 * scan->end when the head is whole, NULL when more is needed, or the refusal. `max`: bytes, with
 * empty lines before it. [any] */
const struct adp_http_refusal *adp_http_head_scan(struct adp_http_scan *scan,
                                                  const char *bytes, size_t len,
                                                  const struct adp_http_limits *limits);

/* What a head says, borrowed from its bytes. */
struct adp_http_head {
    enum adp_http_method method;
    uint32_t minor;
    struct adp_http_text path, query, host;
    struct adp_http_text
        authority;           /* of a target in absolute form; the same as host then */
    uint64_t content_length; /* 0 if it has none */
    bool chunked;
    bool keep_alive;
    bool expects_continue;
    size_t n_fields;
    struct adp_http_field fields[ADP_HTTP_MAX_FIELDS];
};

/* Parses a whole head, from the request line up to and with the empty line. `ret` is not to be
 * read after a refusal. [any] */
const struct adp_http_refusal *adp_http_head_parse(struct adp_http_head *ret,
                                                   const char *bytes, size_t len,
                                                   const struct adp_http_limits *limits);

/* Whether all of it may be in a name (RFC 9110, token). Empty: no. [any] */
bool adp_http_is_token(const char *at, size_t len);

/* Whether it is this name, whatever the case of letters. [any] */
bool adp_http_is_name(struct adp_http_text text, const char *name);

/* A hexadecimal digit's value; -1: it is none. [any] */
int adp_http_hex(char c);

#endif
