/* SPDX-License-Identifier: MIT */
/* The finding in words: the first sentence of every page. Leaves what is found to finding.h. */
#ifndef ADP_ANALYSIS_FINDING_WORDS_H
#define ADP_ANALYSIS_FINDING_WORDS_H

#include "runtime/analysis/tally.h"

#include <stdio.h>

/* One paragraph. */
void adp_finding_print(FILE *to, const struct adp_run *run);
/* Who it is said of: the policy's name, or words in its place. Borrowed from the run. */
const char *adp_finding_subject(const struct adp_run *run);
/* Why there is no goodput; "": there is. */
const char *adp_finding_no_goodput(enum adp_no_goodput why);

#endif
