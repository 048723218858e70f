/* SPDX-License-Identifier: MIT */
/* One decision and why, as a page for people or one object for machines. */
#ifndef ADP_RUNTIME_CLI_EXPLAIN_H
#define ADP_RUNTIME_CLI_EXPLAIN_H

#include "runtime/host/host.h"

struct adp_explained {
    const adp_runtime *runtime;
    const char *request_id; /* NULL: none given */
    adp_decision decision;
    struct adp_explanation why;
    uint32_t cut_lines;     /* of the pages, left out since their last line may be cut */
    double capacity_tokens; /* of the least engine on the page; 0: none tells */
};

/* To stdout. */
void adp_explain_text(const struct adp_explained *e);
/* To stderr, when the policy reads signals and none of them is there: an answer all the same,
 * and most likely a mistake in the asking. */
void adp_explain_note(const struct adp_explained *e, bool metrics_given);
/* ADP_ENOMEM: nothing was written. */
int adp_explain_json(const struct adp_explained *e);

#endif
