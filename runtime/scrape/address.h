/* SPDX-License-Identifier: MIT */
/* Where a page is: an address as people write it, taken apart once.
 *
 *     http://HOST[:PORT][/PATH][?QUERY]      https:// likewise
 *     unix:/SOCKET[:/PATH]                   HTTP over a unix socket
 *
 * Without a path it is /metrics. `shown` is what messages, pages and logs say, as
 * core/veil.h has it: user, password and query may be secrets and are left out of it,
 * also behind a socket. */
#ifndef ADP_SCRAPE_ADDRESS_H
#define ADP_SCRAPE_ADDRESS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ADP_ADDRESS_MAX = 2048, /* bytes as written */
    ADP_SOCKET_MAX = 107    /* bytes of a socket's path: what struct sockaddr_un holds */
};

struct adp_address {
    char url[ADP_ADDRESS_MAX + 32];  /* to be asked for */
    char socket[ADP_SOCKET_MAX + 1]; /* "": none */
    char shown[ADP_ADDRESS_MAX + 32];
};

/* Reads the whole of `text`. ADP_EINVAL: no such address; err says what is wrong with it
 * and what is expected. [any] */
int adp_address_read(const char *text, struct adp_address *ret, struct adp_error *err);

/* True when `text` begins as an address does, whether or not it is a good one: what tells
 * an address from a file's name. [any] */
bool adp_address_is(const char *text);

#endif
