/* SPDX-License-Identifier: MIT */
/* Everything that weakens a page, as sentences, to be printed before its numbers. */
#ifndef ADP_ANALYSIS_CAVEATS_H
#define ADP_ANALYSIS_CAVEATS_H

#include "runtime/analysis/tally.h"

struct adp_caveats {
    char **sentences; /* owned, each; no full stop */
    size_t n, cap;
    bool broken; /* memory ran out: not all are here */
};

void adp_caveats_finish(struct adp_caveats *caveats);
void adp_caveats_add(struct adp_caveats *caveats, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What weakens any number of this run: what is missing, unread, doubled, faulty. */
void adp_caveats_of_instrument(struct adp_caveats *caveats, const struct adp_tally *tally,
                               const struct adp_run *run);
/* What weakens its finding, and its goodput and latencies. */
void adp_caveats_of_finding(struct adp_caveats *caveats, const struct adp_run *run);
void adp_caveats_of_cost(struct adp_caveats *caveats, const struct adp_run *run);

#endif
