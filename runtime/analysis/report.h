/* SPDX-License-Identifier: MIT */
/* The report: what a policy did in a log, and first of all whether it could have fired.
 *
 *   read ─► print │ json │ check ─► destroy
 *
 * One page for each identity that the logs hold. */
#ifndef ADP_ANALYSIS_REPORT_H
#define ADP_ANALYSIS_REPORT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct adp_report;   /* opaque */
struct adp_progress; /* logs.h */

/* Reads files, folders (every *.jsonl below) and "-" (standard input).
 * ADP_ENOENT: a path is not there, or a folder holds no log; ADP_EIO: one cannot be read;
 * ADP_ENOMEM. An empty or corrupt log is no error: the page says what it is. [control] */
int adp_report_read(const char *const *paths, size_t n, struct adp_report **ret,
                    struct adp_error *err);
/* The same, telling how far it is. */
int adp_report_read_telling(const char *const *paths, size_t n,
                            const struct adp_progress *progress, struct adp_report **ret,
                            struct adp_error *err);
void adp_report_destroy(struct adp_report *report);

/* The page as text, at most 80 columns. ADP_EIO, ADP_ENOMEM. */
int adp_report_print(const struct adp_report *report, FILE *to);
/* One object, or {"runs":[…]} when the logs hold several identities. ADP_EIO, ADP_ENOMEM.
 */
int adp_report_json(const struct adp_report *report, FILE *to);
/* Can every run support a claim? True iff each is LIVE, or a baseline by its own flag,
 * no item of it failed, and nothing is lost unrecorded. Else `why` (may be NULL) gets a line
 * for each thing that fails. */
bool adp_report_check(const struct adp_report *report, FILE *why);
/* A line for each path that was passed over: what JSON has no place for. */
void adp_report_unread(const struct adp_report *report, FILE *to);

#endif
