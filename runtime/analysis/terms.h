/* SPDX-License-Identifier: MIT */
/* Every term that a page prints, in words. One table for the command line, the pages and
 * the dashboard. */
#ifndef ADP_ANALYSIS_TERMS_H
#define ADP_ANALYSIS_TERMS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct adp_term {
    const char *word, *group, *meaning;
    bool survey; /* the survey's term, in its sense */
};

/* The table, group after group. */
const struct adp_term *adp_terms(size_t *ret_n);
/* Whatever its case; '-', '_' and ' ' are the same. NULL: not there. */
const struct adp_term *adp_term_find(const char *word);
/* Prints one term, or all when `word` is NULL. ADP_ENOENT, naming the nearest; ADP_EIO.
 */
int adp_terms_print(FILE *to, const char *word, struct adp_error *err);

/* {"terms":[{term group meaning survey}]}. ADP_EIO, ADP_ENOMEM. */
int adp_terms_json(FILE *to);

#endif
