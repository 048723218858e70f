/* SPDX-License-Identifier: MIT */
/* A decision in the words of whoever asked: gateways' statuses, headers, an object.
 *
 *  1. Everything a gateway acts on (status, X-Admit-Status, X-Admit-Verdict, Retry-After)
 *     is the answer for the host: a refusal that is not enforced says admit and 200. What
 *     the policy said stands apart (X-Admit-Policy, the object's `verdict`). */
#ifndef ADP_SIDECAR_ANSWER_H
#define ADP_SIDECAR_ANSWER_H

#include "runtime/http/http.h"

#include <admitperf/runtime.h>

enum adp_gateway {
    ADP_GATEWAY_NATIVE, /* the status as it is */
    ADP_GATEWAY_NGINX,  /* 200, 403: all that auth_request knows besides errors */
    ADP_GATEWAY_ENVOY   /* 5xx would be an error and no denial: 429 instead */
};

#define ADP_HEX 16u
void adp_answer_hex(uint64_t value, char to[ADP_HEX + 1]);
/* "admit", "defer", "reject": what the host is told. Static. */
const char *adp_answer_verdict(const adp_decision *d);
const char *adp_answer_action(uint32_t action); /* of any action */
/* Whole seconds, rounded up. */
uint32_t adp_answer_seconds(uint32_t ms);
uint32_t adp_answer_status(const adp_decision *d, enum adp_gateway gateway);

/* The headers of an answer, in the caller's storage. */
#define ADP_ANSWER_FIELDS 8u
struct adp_answer_fields {
    struct adp_http_field field[ADP_ANSWER_FIELDS];
    size_t n;
    char text[64]; /* what they borrow */
};
void adp_answer_fields(struct adp_answer_fields *ret, const adp_decision *d);

#endif
