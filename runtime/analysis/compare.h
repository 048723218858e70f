/* SPDX-License-Identifier: MIT */
/* The comparison: what a policy bought against a baseline.
 *
 *   paths │ experiment ─► print │ json │ check ─► destroy
 *
 * Four questions come before any number: did the policy fire in every repeat, did both
 * sides face the same load, were outcomes recorded, are the ranges of goodput apart?
 * Repeat k is held against repeat k, in the natural order of their names. Copies are no
 * repeats. The same policy with other parameters is another candidate. */
#ifndef ADP_ANALYSIS_COMPARE_H
#define ADP_ANALYSIS_COMPARE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct adp_compare; /* opaque */

/* Compares what is in two logs or folders. On the baseline's side the policy that is
 * flagged as a baseline, or the only one there. ADP_ENOENT, ADP_EIO, ADP_ENOMEM as
 * adp_report_read; ADP_EINVAL: a side holds nothing to compare, or no one baseline.
 * [control] */
int adp_compare_paths(const char *baseline, const char *policy, struct adp_compare **ret,
                      struct adp_error *err);
/* Compares every policy of an experiment with its flagged baseline; looks for it in the
 * files and folders given. ADP_ENOENT: no line names that experiment (the error lists up
 * to ten that are there); ADP_EINVAL: it has no baseline, or nothing but its baseline. */
int adp_compare_experiment(const char *experiment, const char *const *roots, size_t n,
                           struct adp_compare **ret, struct adp_error *err);
/* Compares the governed arm with the ungoverned one, inside the logs and folders given: each
 * run's with its own. ADP_EINVAL: there is one arm only, or more than one candidate. */
int adp_compare_arms(const char *const *paths, size_t n, struct adp_compare **ret,
                     struct adp_error *err);
void adp_compare_destroy(struct adp_compare *compare);

/* The page as text, at most 80 columns. ADP_EIO, ADP_ENOMEM. */
int adp_compare_print(const struct adp_compare *compare, FILE *to);
int adp_compare_json(const struct adp_compare *compare, FILE *to);
/* Did every candidate pass all four checks? Else `why` (may be NULL) gets a line for each
 * that failed or could not be asked. */
bool adp_compare_check(const struct adp_compare *compare, FILE *why);
/* A line for each path that was passed over: what JSON has no place for. */
void adp_compare_unread(const struct adp_compare *compare, FILE *to);

#endif
