/* SPDX-License-Identifier: MIT */
/* /v1/auth: facts in headers, an answer without a body. The path that gateways ask for each
 * request: nothing is allocated.
 *
 * The profile is a part of the path (/v1/auth/nginx) or of the query (?profile=nginx).
 * What comes behind it in the path is the client's own: Envoy appends it. */
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/facts.h"

#include <string.h>

static const char *const profiles[] = { [ADP_GATEWAY_NATIVE] = "native",
                                        [ADP_GATEWAY_NGINX] = "nginx",
                                        [ADP_GATEWAY_ENVOY] = "envoy" };
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

/* -1: no such. */
static int profile_of(struct adp_http_text word)
{
    for (int i = 0; i < PROFILES; i++)
        if (adp_http_text_is(word, profiles[i]))
            return i;
    return -1;
}

static int gateway_of(const struct adp_http_request *request)
{
    static const size_t prefix = sizeof "/v1/auth" - 1;
    struct adp_http_text word = { NULL, 0 };
    if (request->path.len > prefix + 1) {
        word.at = request->path.at + prefix + 1;
        const char *slash = memchr(word.at, '/', request->path.len - prefix - 1);
        word.len = slash ? (size_t)(slash - word.at) : request->path.len - prefix - 1;
        return profile_of(word);
    }
    return adp_http_query_find(request, "profile", &word) ? profile_of(word)
                                                          : ADP_GATEWAY_NATIVE;
}

void adp_auth_reply(struct adp_loop *loop, uint64_t exchange, enum adp_gateway gateway,
                    const adp_decision *d)
{
    struct adp_answer_fields fields;
    adp_answer_fields(&fields, d);
    const struct adp_http_answer answer = {
        .status = adp_answer_status(d, gateway),
        .fields = fields.field,
        .n_fields = fields.n,
    };
    adp_http_answer(loop->server, exchange, &answer);
}

void adp_auth_answer(struct adp_loop *loop, const struct adp_http_request *request)
{
    struct adp_desk *desk = &loop->desk;
    adp_decision d;
    int gateway = gateway_of(request);
    if (gateway < 0) {
        adp_refuse(loop, request, 404,
                   "no such profile, expected native, nginx or envoy");
        return;
    }
    const struct adp_owed_manner manner = { .gateway = (enum adp_gateway)gateway };
    adp_desk_clear(desk);
    adp_facts facts = adp_facts_of_headers(desk, request);
    adp_above_owe_decision(loop, ADP_OWED_AUTH, manner, NULL);
    adp_desk_decide(desk, &facts, NULL, 0, &d);
    adp_above_owe_decision(loop, ADP_OWED_AUTH, manner, &d);
    adp_auth_reply(loop, request->exchange, manner.gateway, &d);
}
