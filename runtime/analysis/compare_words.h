/* SPDX-License-Identifier: MIT */
/* What a comparison says in words, sentence by sentence: the text page prints them under one
 * another, the JSON holds them for pages that are no text. */
#ifndef ADP_ANALYSIS_COMPARE_WORDS_H
#define ADP_ANALYSIS_COMPARE_WORDS_H

#include "runtime/analysis/versus.h"

#include <stdio.h>

/* What is said of a candidate, in this order: whether it is a result, what it refused, the
 * tail, its interval, the goodput, its interval, the price, the same by lot. */
unsigned adp_compare_n_words(void);
/* Prints number `i` of them, which may be nothing. Returns the label it begins with; "": it
 * has none. */
const char *adp_compare_words_print(FILE *to, const struct adp_compare *compare,
                                    const struct adp_candidate *candidate, unsigned i);
/* What follows from a check whose answer is no, or not known. */
const char *adp_compare_follows(enum adp_check_name check, enum adp_answer answer);
/* The policy's name, or that of the arm. */
const char *adp_side_policy(const struct adp_part *part);
/* The greatest reading of a signal over the repeats; NaN: never supplied. */
double adp_side_greatest(const struct adp_side *side, const char *signal);

#endif
