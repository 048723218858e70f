/* SPDX-License-Identifier: MIT */
/* Reasons for a refusal: the word in the log and the HTTP status that goes with it.
 *
 * A policy names a reason and never a status, so refusals compare across deployments. 503
 * says the deployment has no room, 429 that this client asked for more than its share,
 * 413 that the request can never be served. A status profile moves the capacity reasons
 * as a whole, for gateways that treat 503 as "ejected": llm-d answers 429, NVIDIA Dynamo
 * 529. */
#ifndef ADP_CORE_REASON_H
#define ADP_CORE_REASON_H

#include <admitperf/policy.h>
#include <stdbool.h>

/* The host's own: a policy failed and on_error says reject. 503. Not open to policies. */
#define ADP_R_POLICY_ERROR 0x100u

enum adp_profile { ADP_PROFILE_STANDARD, ADP_PROFILE_LLM_D, ADP_PROFILE_DYNAMO };

/* True for the reasons that a policy may name. */
bool adp_reason_open(uint32_t reason);
/* "kv_pressure", …; NULL for 0 and for numbers not in the vocabulary. Static. */
const char *adp_reason_word(uint32_t reason);
/* 200 for 0, else the status of the reason; 503 for numbers not in the vocabulary. */
uint32_t adp_reason_status(uint32_t reason, enum adp_profile profile);

#endif
