/* SPDX-License-Identifier: MIT */
/* The texts that all lines of one configuration share (core/write.h), made once. */
#ifndef ADP_RUNTIME_HOST_WORDS_H
#define ADP_RUNTIME_HOST_WORDS_H

#include "core/line.h"
#include "runtime/host/state.h"

/* ">=", ">", "<=", "<"; "?" for a number that is no op. Static. */
const char *adp_host_op_word(uint32_t op);

/* Packs identity, tail, and the words of each policy and signal of a sealed edition;
 * `undecided`: no policy is named. ADP_ENOMEM. */
int adp_host_words(struct adp_line *packed, const struct adp_edition *e, bool undecided);

#endif
