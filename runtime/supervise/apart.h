/* SPDX-License-Identifier: MIT */
/* A piece of work in a process of its own, whose answer is a text: for what may end its process,
 * before anything is there to be lost.
 *
 * The process is a fork: the caller has one thread. It dies with its parent. */
#ifndef ADP_SUPERVISE_APART_H
#define ADP_SUPERVISE_APART_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* Has work(ctx, to) done, which writes its answer to the descriptor `to` and returns an exit
 * status from 0 to 125. That is returned, and the answer, NUL-terminated and cut to fit, is in
 * `ret`. ADP_EIO: no process could be made, or it died, or did not return within_ms (it is killed
 * then); the error says which. [control] */
int adp_apart(int (*work)(void *ctx, int to), void *ctx, uint32_t within_ms, char *ret,
              size_t cap, struct adp_error *err);

#endif
