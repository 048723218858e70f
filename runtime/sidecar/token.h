/* SPDX-License-Identifier: MIT */
/* The token that requests have to carry, if one is configured: `Authorization: Bearer
 * TOKEN`, or `X-Admit-Token: TOKEN` where the gateway hands its client's own Authorization
 * on to us.
 *
 *  1. Comparing takes as long for a nearly right token as for a wrong one of its length.
 *  2. A token that is replaced stays in memory until the end: somebody may be comparing. */
#ifndef ADP_SIDECAR_TOKEN_H
#define ADP_SIDECAR_TOKEN_H

#include "core/error.h"
#include "runtime/http/http.h"

#include <stdatomic.h>

#define ADP_TOKEN_MAX 1024u

struct adp_token_text;
struct adp_token {
    _Atomic(struct adp_token_text *) now; /* NULL: none is asked for */
};

/* Reads the file: its first line, 8 to 1024 printable bytes. NULL: none is asked for.
 * ADP_EIO, ADP_EINVAL, ADP_ENOMEM: the one before stays. [control] */
int adp_token_read(struct adp_token *token, const char *path, struct adp_error *err);
/* Takes a text for the token that was one in another process. ADP_EINVAL, ADP_ENOMEM. [control] */
int adp_token_set(struct adp_token *token, const char *text, struct adp_error *err);
/* The one in force, at most `cap` bytes with its NUL; false: none is asked for. [control] */
bool adp_token_text(const struct adp_token *token, char *to, size_t cap);
void adp_token_finish(struct adp_token *token);
/* [any] */
bool adp_token_allows(const struct adp_token *token,
                      const struct adp_http_request *request);

#endif
