/* SPDX-License-Identifier: MIT */
/* What answers look like: the fields they all carry, errors in words, the page itself, packed
 * for who takes it so. */
#ifndef ADP_DASHBOARD_REPLY_H
#define ADP_DASHBOARD_REPLY_H

#include "runtime/http/http.h"

#include <admitperf/error.h>

/* JSON, 200. A client that is gone needs no answer: nothing is returned, here and below.
 * [loop], as all of these */
void adp_reply_json(struct adp_http_server *server, uint64_t exchange, const char *body,
                    size_t len);
/* {"error": why} */
void adp_reply_error(struct adp_http_server *server, uint64_t exchange, uint32_t status,
                     const char *why);
/* By the code: 404 for what is not there, 400 for what cannot be meant, else 500. */
void adp_reply_code(struct adp_http_server *server, uint64_t exchange, int code,
                    const struct adp_error *err);
/* Answers a request for a part of the page. False: it asks for none. */
bool adp_reply_asset(struct adp_http_server *server,
                     const struct adp_http_request *request);
/* Begins server-sent events; as adp_http_stream_begin. */
int adp_reply_events(struct adp_http_server *server, uint64_t exchange, const char *first,
                     size_t len);

/* Does an Accept-Encoding take gzip? NULL: none was sent. [any] */
bool adp_reply_may_pack(const struct adp_http_text *accepts);

#endif
