/* SPDX-License-Identifier: MIT */
/* LIVE, INERT or UNKNOWN: could the policy have fired, and did it?
 *
 * Judged from what the log's own lines declare (gates with their operators and
 * thresholds, a margin, a card), never from a list of known policies. */
#ifndef ADP_ANALYSIS_FINDING_H
#define ADP_ANALYSIS_FINDING_H

#include "runtime/analysis/tally.h"

/* Sets run->finding and run->ground from the rest of it.
 *
 * LIVE: the policy refused (its own verdict, enforced or not), or a rule's gates all
 * held, or its margin reached 0. INERT: none of that, though it could be judged on at
 * least one decision. UNKNOWN: nothing can be said. */
void adp_finding_judge(struct adp_run *run);

const char *adp_finding_word(enum adp_finding finding);
/* ">=", …; NULL for an operator we do not know. */
const char *adp_finding_op(uint32_t op);

/* Can the gate be held against readings: is its operator known and its threshold fixed?
 */
bool adp_finding_fixed(const struct adp_part_gate *gate);

/* Did any line of the run supply this signal? */
bool adp_finding_supplied(const struct adp_part *part, const char *signal);
/* Why a signal that was never there was absent, into `to`: "frozen" where all of its lines
 * say so, else the reasons by number of lines, "frozen 15 of 16, first_sample 1". "": no line
 * says why, or all that nobody supplied it. */
enum { ADP_FINDING_WHYS = 160 };
void adp_finding_whys(const struct adp_part *part, const char *signal,
                      char to[ADP_FINDING_WHYS]);

/* The parameter that a log without gates is most likely to compare its signal with: the
 * first there is of threshold, max_waiting, min_hit_rate. A note for the page, no ground
 * for a finding. NULL: none. */
const struct adp_part_param *adp_finding_threshold(const struct adp_part *part);

#endif
