/* SPDX-License-Identifier: MIT */
/* What gateways tell about a request, and under which names.
 *
 * A number that cannot be read is not known: it is counted, and never 0. */
#ifndef ADP_SIDECAR_FACTS_H
#define ADP_SIDECAR_FACTS_H

#include "runtime/http/http.h"
#include "runtime/sidecar/desk.h"

/* Puts our own names where a configuration states none. */
void adp_facts_settle(struct adp_serve_setting *serve);

/* The facts that the request's headers tell; borrowed from the desk until it is cleared. */
adp_facts adp_facts_of_headers(struct adp_desk *desk,
                               const struct adp_http_request *request);

/* One fact by its name ("tenant", "prompt_tokens", …), as decide --fact has them; "id" and
 * "prompt_bytes" too. -1: no such fact. */
int adp_facts_find(const char *name, size_t len);

/* Sets it from a text that lives as long as the facts. False, and counted: not a number of its
 * kind, so not known. */
bool adp_facts_put(struct adp_desk *desk, adp_facts *facts, enum adp_header fact,
                   const char *text);

/* All names, NULL-terminated, for "nearest" messages. */
extern const char *const adp_fact_names[];

#endif
