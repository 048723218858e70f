/* SPDX-License-Identifier: MIT */
/* The report as JSON (docs/reading-a-report.md has the keys). */
#ifndef ADP_ANALYSIS_REPORT_JSON_H
#define ADP_ANALYSIS_REPORT_JSON_H

#include "runtime/analysis/caveats.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/tally.h"

#include <jansson.h>
#include <stdio.h>

/* `logs` (NULL: nobody looked for any): what was passed over weakens the page. 0, ADP_ENOMEM or ADP_EIO. */
int adp_report_write_json(const struct adp_tally *tally, const struct adp_log_list *logs,
                          FILE *to);

/* A number, or null for NaN and infinities. New reference; NULL: out of memory. */
json_t *adp_json_number(double value);
/* A string, or null for NULL; of a text that is not UTF-8, such as a path may be, what
 * adp_pen_repaired makes. New reference; NULL: out of memory. */
json_t *adp_json_text(const char *text);
/* The parameters as an object. New reference; NULL: out of memory. */
json_t *adp_json_params(const struct adp_part *part);
/* The sentences as an array. New reference; NULL: out of memory, then or before. */
json_t *adp_json_caveats(const struct adp_caveats *caveats);
/* What shares of the run's TTFT are within: [[share, ms]…], none without a TTFT. New
 * reference; NULL: out of memory. */
json_t *adp_json_quantiles(const struct adp_run *run);
/* Writes the document and a newline; takes the reference. `doc` NULL: ADP_ENOMEM. */
int adp_json_write_take(json_t *doc, FILE *to);

#endif
