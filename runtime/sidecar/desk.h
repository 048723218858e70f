/* SPDX-License-Identifier: MIT */
/* A desk: what one thread that answers requests has for itself, so that answering shares
 * nothing. A lane, room for texts, its counts.
 *
 *  1. Counts are written by the desk's thread and read by any.
 *  2. Deciding by headers allocates nothing. */
#ifndef ADP_SIDECAR_DESK_H
#define ADP_SIDECAR_DESK_H

#include "core/line.h"
#include "runtime/config/config.h"

#include <stdatomic.h>

/* Upper bounds of the histogram, in ns; one more bucket has the rest. */
#define ADP_DESK_BOUNDS 12u
extern const uint64_t adp_desk_bound_ns[ADP_DESK_BOUNDS];

/* What became of an outcome that came in. */
enum adp_outcome_fate {
    ADP_FATE_SETTLED, /* of a decision that waited for it */
    ADP_FATE_UNKNOWN, /* recorded; no decision waits for it */
    ADP_FATE_REFUSED, /* not recorded: the gateway says that it refused the request */
    ADP_FATE_BYPASS,  /* not recorded: the gateway did not ask, or got no answer */
    ADP_FATE_BAD      /* not recorded: not to be read */
};
#define ADP_FATES 5u
/* "settled", …: what answers and pages call it. Static. [any] */
const char *adp_outcome_fate_word(enum adp_outcome_fate fate);

struct adp_desk_counts {
    _Atomic uint64_t decided[ADP_DESK_BOUNDS + 1];
    _Atomic uint64_t decide_ns;
    _Atomic uint64_t bad_facts; /* numbers that are none: taken as not known */
    _Atomic uint64_t fates[ADP_FATES];
};

struct adp_desk {
    adp_lane *lane;
    const struct adp_serve_setting *serve; /* borrowed; no names are left out */
    char *scratch;                         /* texts of the request at hand */
    size_t scratch_cap, scratch_used;
    struct adp_line out; /* the answer at hand */
    struct adp_desk_counts counts;
};

/* `scratch`: bytes of text a request may bring. ADP_ENOMEM, ADP_EFULL, ADP_ESTATE. */
int adp_desk_init(struct adp_desk *desk, adp_runtime *rt,
                  const struct adp_serve_setting *serve, size_t scratch, adp_error *err);
void adp_desk_finish(struct adp_desk *desk);

/* Adds 1, or more. */
void adp_desk_count(_Atomic uint64_t *count, uint64_t more);

/* Decides and measures. `metrics` NULL: the ones in force. */
void adp_desk_decide(struct adp_desk *desk, const adp_facts *facts,
                     const adp_metric *metrics, uint32_t n, adp_decision *ret);

/* A NUL-terminated copy of a text of the request, until the next adp_desk_clear; NULL when
 * it does not fit. */
const char *adp_desk_text(struct adp_desk *desk, const char *text, size_t len);
void adp_desk_clear(struct adp_desk *desk);

#endif
