/* SPDX-License-Identifier: MIT */
/* What hosts post to /v1/decide, as it nearly always is: facts and nothing else, in JSON
 * without anything rare in it.
 *
 *     {"request_id":"r1","facts":{"tenant":"acme","prompt_tokens":2168}}
 *
 * A general parser spends more on this than everything else about the request together.
 *
 *  1. What is taken here is what the general parser would make of it, fact for fact, in the
 *     same order.
 *  2. Whatever is not plain is left to that: metrics, escapes, other than ASCII, fractions,
 *     long numbers, a key, or an id, that is there twice, a key that is not known, every mistake. So this has
 *     nothing to say about errors. */
#ifndef ADP_SIDECAR_PLAIN_H
#define ADP_SIDECAR_PLAIN_H

#include "runtime/config/config.h"

#define ADP_PLAIN_FACTS (ADP_HEADERS + 1u) /* request_id may stand outside of facts too */

struct adp_plain {
    uint32_t n;
    struct {
        enum adp_header fact;
        const char *at; /* borrowed from the body; not NUL-terminated */
        size_t len;
    } told[ADP_PLAIN_FACTS];
};

/* True: `ret` holds all that `body` tells. False: it is not plain. [any] */
bool adp_plain_read(struct adp_plain *ret, const char *body, size_t len);

#endif
