/* SPDX-License-Identifier: MIT */
/* What a client is owed, in the words that outlive this process: so that the worker after one
 * that a policy ended answers in its place (above.h).
 *
 *  1. A request is noted with its manner before anything of it is done, and again with what was
 *     decided before it is answered. So it is answered as was decided, if that is known, and by
 *     on_error otherwise; which is recorded then, unless the note's mark tells that it was. */
#ifndef ADP_SIDECAR_OWED_H
#define ADP_SIDECAR_OWED_H

#include "core/lane.h"
#include "runtime/config/config.h"
#include "runtime/sidecar/answer.h"
#include "runtime/supervise/worker.h"

/* Kinds: what was asked. */
enum {
    ADP_OWED_UNKNOWN, /* it was not said yet: taken for ADP_OWED_AUTH */
    ADP_OWED_AUTH,    /* a decision, by headers */
    ADP_OWED_DECIDE,  /* a decision, as an object */
    ADP_OWED_OUTCOME,
    ADP_OWED_REFUSED, /* answered with a status of 400 and above */
    ADP_OWED_SPOP,    /* a decision, of a frame */
    ADP_OWED_ENDPOINT /* and more: one of loop.c's, which can be asked again */
};

/* How a decision is to be answered. */
struct adp_owed_manner {
    enum adp_gateway gateway;
    bool always200;
};

/* `d` NULL: not decided yet. */
void adp_owed_write(uint64_t note[3], struct adp_owed_manner manner,
                    const adp_decision *d);
/* False: it was not decided, *ret is untouched. Whatever stands there, what is read is a
 * decision that could have been made. */
bool adp_owed_read(const uint64_t note[3], struct adp_owed_manner *ret_manner,
                   adp_decision *ret);
/* Says in the note of what is not decided yet where the records of the lane stand that is going to
 * decide it. */
void adp_owed_mark(uint64_t note[3], const adp_lane *lane);
/* Where all lanes' records stood when a process took over, before it made any. */
struct adp_owed_records {
    uint64_t of[ADP_MAX_LANES + 1]; /* by lane */
};
void adp_owed_count(struct adp_owed_records *ret, const struct adp_region *region);
/* Whether the marked lane had recorded something until then: this request, by itself or by who
 * found it dead (core/recover.h). Only of what is not decided. */
bool adp_owed_is_recorded(const uint64_t note[3], const struct adp_owed_records *until);
/* What is to be told of what was not decided yet, if whoever found its lane dead recorded that
 * (core/recover.h). */
bool adp_owed_told(const uint64_t note[3], const struct adp_region *region,
                   adp_decision *ret);
/* The same for a frame of SPOP, without what the policy said where that was not enforced. False:
 * it has numbers of more than 32 bits, which HAProxy does not give. */
bool adp_owed_write_frame(uint64_t note[3], uint64_t stream, uint64_t frame,
                          const adp_decision *d);
bool adp_owed_read_frame(const uint64_t note[3], uint64_t *ret_stream,
                         uint64_t *ret_frame, adp_decision *ret);
void adp_owed_mark_frame(uint64_t note[3], const adp_lane *lane);
bool adp_owed_frame_is_recorded(const uint64_t note[3],
                                const struct adp_owed_records *until);
bool adp_owed_frame_told(const uint64_t note[3], const struct adp_region *region,
                         adp_decision *ret);
/* By on_error, where nobody recorded what is to be told: where only a share of requests is
 * governed, which of them this was is not known any more, and admit is the answer. */
void adp_owed_fault(const struct adp_config *config, adp_decision *ret);

#endif
