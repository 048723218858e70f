/* SPDX-License-Identifier: MIT */
/* The arithmetic of a comparison: sides, spreads, the four checks. The pages read it. */
#ifndef ADP_ANALYSIS_VERSUS_H
#define ADP_ANALYSIS_VERSUS_H

#include "runtime/analysis/caveats.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/tally.h"

/* Over the runs that have the figure. Median: the middle one; of an even number, the mean
 * of the two in the middle. NaN when no run has it. */
struct adp_spread {
    double median, min, max;
    size_t n;
};

/* The repeats of one policy with one set of parameters. */
struct adp_side {
    const struct adp_part *part; /* of its first run: policy, parameters */
    const struct adp_run **runs; /* owned list; natural order of run names */
    size_t n, cap;
    struct adp_spread offered, refused_share, ttft_p50, ttft_p95, goodput;
};

/* How much a figure of the candidate lies above the baseline's, repeat against repeat: the
 * mean over the pairs, and where 95 of 100 means lie when as many pairs are drawn from
 * these again and again (the percentile bootstrap, Efron and Tibshirani, "An Introduction
 * to the Bootstrap", 1993, chapter 13). The draws are the same every time. */
struct adp_difference {
    double mean, low, high; /* NaN: not known. low, high: with two pairs or more */
    size_t pairs;
};

enum adp_answer { ADP_NO, ADP_YES, ADP_NOT_ASKED };

struct adp_check {
    enum adp_answer answer;
    char why[192];
};

enum adp_check_name {
    ADP_CHECK_FIRED,
    ADP_CHECK_SAME_LOAD,
    ADP_CHECK_OUTCOMES,
    ADP_CHECK_SEPARATED,
    ADP_CHECKS
};

struct adp_candidate {
    struct adp_side side;
    struct adp_difference goodput, ttft_p95;
    /* Goodput if the baseline had refused the candidate's share of its requests, drawn by
     * lot, and served the rest as it did: what "how many" alone would have given. */
    struct adp_spread equal_volume;
    struct adp_check checks[ADP_CHECKS];
};

struct adp_compare {
    struct adp_tally *tally;
    struct adp_log_list logs;
    const char *experiment; /* borrowed from the tally; NULL: not named */
    bool arms;              /* the two arms of one log's split */
    struct adp_side baseline;
    struct adp_candidate *candidates;
    size_t n, cap;
    struct adp_caveats caveats;
};

/* Adds the run to the side. 0 or ADP_ENOMEM. */
int adp_side_add(struct adp_side *side, const struct adp_run *run);
/* Orders the runs and computes the spreads. 0 or ADP_ENOMEM. */
int adp_side_settle(struct adp_side *side);
void adp_side_finish(struct adp_side *side);

/* Answers the four questions, and computes what stands beside them; both sides are settled.
 * `arms`: they are the arms of one split. 0, ADP_ENOMEM, ADP_EIO. */
int adp_versus_check(struct adp_candidate *candidate, const struct adp_side *baseline,
                     bool arms);
/* Do all runs of both disclose the same SLO, or none? Else their goodputs are not one measure. */
bool adp_versus_one_slo(const struct adp_side *a, const struct adp_side *b);
/* Are all four answered yes? */
bool adp_versus_holds(const struct adp_candidate *candidate);

/* "fired in every repeat", … and "fired", … */
const char *adp_check_title(enum adp_check_name check);
const char *adp_check_word(enum adp_check_name check);

#endif
