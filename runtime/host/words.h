/* SPDX-License-Identifier: MIT */
/* The texts that all lines of one configuration share (core/write.h), made once. */
#ifndef ADP_RUNTIME_HOST_WORDS_H
#define ADP_RUNTIME_HOST_WORDS_H

#include "core/line.h"
#include "runtime/config/config.h"
#include "runtime/host/params.h"
#include "runtime/loader/loader.h"

/* Packs identity, tail, and the words of each policy and signal. `hash`: the `config`
 * key. ADP_ENOMEM. */
/* ">=", ">", "<=", "<"; "?" for a number that is no op. Static. */
const char *adp_host_op_word(uint32_t op);

int adp_host_words(struct adp_line *packed, const struct adp_config *config,
                   struct adp_loaded *const *loaded, const struct adp_params *params,
                   uint64_t hash);

#endif
