/* SPDX-License-Identifier: MIT */
/* Outcomes as gateways write them: an object of JSON in a line, by whatever names.
 *
 *     {"id":"0123456789abcdef","status":200,"ttft_ms":"512","end":"done"}
 *
 *  1. A text that is a number is one ("512"); "" and "-" are what log formats write for
 *     nothing, and mean that.
 *  2. Who refused the request, or did not ask us, has no outcome to tell: such a line is
 *     recognised by its verdict and left out.
 *  3. How it ended is what `end` says: done, failed, cancelled, or HAProxy's termination
 *     state (%ts); without it 499 is a client that left, and 500 and above a failure. */
#ifndef ADP_SIDECAR_OUTCOME_H
#define ADP_SIDECAR_OUTCOME_H

#include "runtime/sidecar/desk.h"

#include <jansson.h>

#define ADP_OUTCOME_EXTRAS 16u

struct adp_outcome_line {
    json_t *root; /* owned; what the texts below are borrowed from */
    uint64_t id;  /* 0: none */
    const char *request_id;
    char number[32]; /* of one that is no text */
    adp_result result;
    adp_extra extra[ADP_OUTCOME_EXTRAS];
};

/* Reads one line. SETTLED: an outcome, to be recorded; REFUSED, BYPASS: none; BAD: *ret_why
 * says why, static. The line is to be finished in any case. */
enum adp_outcome_fate adp_outcome_read(struct adp_outcome_line *ret, const char *text,
                                       size_t len, const struct adp_names_setting *fields,
                                       const char **ret_why);
void adp_outcome_finish(struct adp_outcome_line *line);

/* Reads it and records it; counts its fate, and returns it. */
enum adp_outcome_fate adp_outcome_take(struct adp_desk *desk, const char *text,
                                       size_t len, const char **ret_why);

/* All lines of a datagram, behind its syslog header if it has one. */
void adp_outcome_datagram(struct adp_desk *desk, const char *bytes, size_t len);

#endif
