/* SPDX-License-Identifier: MIT */
/* HAProxy's connections: a thread with its own desk and sockets, around spop.h.
 *
 * Under a supervisor a connection can go on when this process ends: frames are looked at in the
 * socket, each is noted with what is owed for it before it is decided, and those that were are taken
 * out together, so that only who was within a read, a write or a hello is cut.
 *
 * At most ADP_SPOA_CONNECTIONS; the next ones wait unaccepted. A connection whose other
 * side takes nothing for ADP_SPOA_STALL_NS, or sends no hello in that time, is closed; so is one on
 * which a frame does not become whole within limits.head_time, and, with a goodbye, one on which
 * nothing comes for limits.idle; a second later at most. */
#ifndef ADP_SIDECAR_SPOA_H
#define ADP_SIDECAR_SPOA_H

#include "runtime/sidecar/desk.h"
#include "runtime/sidecar/owed.h"
#include "runtime/supervise/worker.h"

#define ADP_SPOA_CONNECTIONS 256u
#define ADP_SPOA_STALL_NS    UINT64_C(10000000000)

struct adp_spoa;

/* `desk` is its thread's from now on; borrowed. ADP_ENOMEM, ADP_EIO. [control] */
int adp_spoa_create(struct adp_spoa **ret, struct adp_desk *desk, adp_error *err);
/* A listening socket; borrowed. Before the start. [control] */
int adp_spoa_listen(struct adp_spoa *spoa, int fd, adp_error *err);
/* Connections have their places from this one on; `departed` is called when adp_spoa_leave has
 * been obeyed. Before the start. [control] */
void adp_spoa_supervise(struct adp_spoa *spoa, struct adp_worker *worker,
                        uint32_t first_place, void (*departed)(void *ctx), void *ctx);
/* Whether a connection of the process before was one of these. [any] */
bool adp_spoa_was(const struct adp_held *held);
/* Goes on with it; it is taken. `fault`: what is answered where nothing was decided, and recorded
 * unless it was by what lanes had recorded until then. Before the start. [control] */
void adp_spoa_adopt_take(struct adp_spoa *spoa, const struct adp_held *held,
                         const adp_decision *fault, const struct adp_owed_records *until);
/* As adp_http_server_leave: the thread ends once nothing is half done, or after within_ms, and
 * leaves all connections open. [any] */
void adp_spoa_leave(struct adp_spoa *spoa, uint32_t within_ms);
int adp_spoa_start(struct adp_spoa *spoa, adp_error *err);
/* Says goodbye to all, and ends the thread. [control] */
void adp_spoa_stop(struct adp_spoa *spoa);
void adp_spoa_destroy(struct adp_spoa *spoa);
/* [any] */
void adp_spoa_counts(const struct adp_spoa *spoa, uint64_t *ret_connections,
                     uint64_t *ret_frames);

#endif
