/* SPDX-License-Identifier: MIT */
/* Thresholds on kv_pressure that lie out of reach (core/reach.h), in words. */
#ifndef ADP_RUNTIME_HOST_REACH_H
#define ADP_RUNTIME_HOST_REACH_H

#include "core/reach.h"
#include "runtime/config/config.h"
#include "runtime/host/params.h"
#include "runtime/loader/loader.h"

enum { ADP_REACH_WORDS = 256 };

/* True, and a sentence in `to`, when a gate `signal op threshold` (op as
 * adp_host_op_word has it) can never hold. False also where too little is known. [any] */
bool adp_host_out_of_reach(const struct adp_reach *reach, const char *signal,
                           const char *op, double threshold, char to[ADP_REACH_WORDS]);

/* Adds an ADP_NOTE for each gate of each policy that cannot hold by what the
 * configuration discloses. [control] */
void adp_host_note_reach(const struct adp_config *config,
                         struct adp_loaded *const *loaded,
                         const struct adp_params *params, adp_errors *errors);

#endif
