/* SPDX-License-Identifier: MIT */
/* The texts that all lines of one configuration share (core/write.h), made once. */
#ifndef ADP_RUNTIME_HOST_WORDS_H
#define ADP_RUNTIME_HOST_WORDS_H

#include "core/line.h"
#include "runtime/host/state.h"

struct adp_host_scene; /* runtime/host/host.h */

/* ">=", ">", "<=", "<"; "?" for a number that is no op. Static. */
const char *adp_host_op_word(uint32_t op);

/* Packs identity, tail, and the words of each policy and signal of a sealed edition;
 * `scene` (NULL: none) says whether no policy is named, and that it is a watch.
 * ADP_ENOMEM. */
int adp_host_words(struct adp_line *packed, const struct adp_edition *e,
                   const struct adp_host_scene *scene);

#endif
