/* SPDX-License-Identifier: MIT */
/* HAProxy's Stream Processing Offload Protocol, 2.0 (its doc/SPOE.txt, 3), the agent's side
 * of one connection, without a socket: bytes in, bytes out.
 *
 *          hello                     notify → ack, …
 *     NEW ───────► TALKING ───────────────────────────► OVER
 *                        a frame that breaks the protocol, or HAProxy's goodbye
 *
 *  1. A frame is at most what both sides agreed to, ADP_SPOP_FRAME at first; a longer one is
 *     refused by its length, before it is there.
 *  2. NOTIFY frames may come pipelined; each is answered by one ACK, in order. Fragments
 *     are not announced, and refused.
 *  3. A health check (HELLO with healthcheck) is answered and the connection ended.
 *  4. When the other side does not take answers, no more is read: feed says WAIT.
 *
 * A message's arguments are facts by the names of facts.h, other names are left alone; the
 * message's own name does not matter. What is set, in the scope of the transaction:
 * verdict, status, reason, retry (seconds), retry_ms, id, enforced. */
#ifndef ADP_SIDECAR_SPOP_H
#define ADP_SIDECAR_SPOP_H

#include "runtime/sidecar/desk.h"

#define ADP_SPOP_FRAME 16384u /* bytes of a frame, its length apart */

enum adp_spop_next {
    ADP_SPOP_READ, /* read on */
    ADP_SPOP_WAIT, /* first write what is to be written, then feed 0 bytes */
    ADP_SPOP_OVER  /* write what is to be written, then close */
};

struct adp_spop;

/* `desk`: borrowed, of the thread that feeds. ADP_ENOMEM. */
int adp_spop_create(struct adp_spop **ret, struct adp_desk *desk);
void adp_spop_destroy(struct adp_spop *spop);

/* Where to put the next bytes, and how many fit; at least 1 after READ. */
char *adp_spop_room(struct adp_spop *spop, size_t *ret_cap);
/* So many were put there. */
enum adp_spop_next adp_spop_feed(struct adp_spop *spop, size_t n);

/* What is to be written; so many were. */
const char *adp_spop_out(const struct adp_spop *spop, size_t *ret_len);
void adp_spop_sent(struct adp_spop *spop, size_t n);

/* --- for who may have to go on with another process's connection (spoa.c) */

/* Bytes of the frame that begins at `bytes`, its length among them; 0: not known yet. */
size_t adp_spop_frame(const char *bytes, size_t n);
/* Whether a whole frame is a NOTIFY, which is owed an ACK of these two. */
bool adp_spop_asks(const char *bytes, size_t n, uint64_t *ret_stream,
                   uint64_t *ret_frame);
/* What frames are at most since the hello; 0: there was none. */
uint32_t adp_spop_agreed(const struct adp_spop *spop);
/* As after a hello in which this was agreed to. False: it cannot have been. */
bool adp_spop_resume(struct adp_spop *spop, uint32_t agreed);
/* Is called with each decision, before its ACK is there to be written. */
void adp_spop_watch(struct adp_spop *spop,
                    void (*decided)(void *ctx, const adp_decision *d), void *ctx);
/* Answers a NOTIFY that was not read here. False: there is no room. */
bool adp_spop_answer(struct adp_spop *spop, uint64_t stream, uint64_t frame,
                     const adp_decision *d);

/* Ends it from our side: a goodbye is to be written, and then OVER. */
void adp_spop_end(struct adp_spop *spop);

#endif
