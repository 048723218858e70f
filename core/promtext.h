/* SPDX-License-Identifier: MIT */
/* Reads a metrics page: Prometheus text 0.0.4 (OpenMetrics is read as far as the two
 * agree).
 *
 * One bad line costs that line, not the page: a value that is no number (DCGM prints
 * "ERROR - FAILED TO CONVERT TO STRING", UUIDs, nothing) is skipped and counted, never
 * read as 0. What is not a metrics page at all (JSON, HTML, a NUL byte, only bad lines)
 * is refused whole.
 *
 * Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ . Accepted beyond
 * it: CRLF, a UTF-8 byte order mark, no final newline, blanks and tabs around every
 * token, trailing comma in labels, quoted names as Prometheus 3 writes them
 * ({"my.name",label="v"} 1), dots in bare names, TYPE anywhere or twice, an OpenMetrics
 * exemplar after the value (nothing of it is read), an OpenMetrics float timestamp
 * (seconds; recognised by its point, an integer is milliseconds). */
#ifndef ADP_CORE_PROMTEXT_H
#define ADP_CORE_PROMTEXT_H

#include "core/metrics.h"

/* What was found while reading. */
struct adp_promtext_found {
    uint32_t samples;        /* lines read, each into a series; duplicates among them */
    uint32_t bad_lines;      /* skipped */
    uint32_t first_bad_line; /* 1-based; 0 when none */
    const char
        *first_bad_why; /* static words: "value is not a number", … ; NULL when none */
    bool openmetrics;   /* ended with # EOF */
};

/* Clears `metrics` and reads `page[0..len)` into it. `ret` may be NULL. What a page was
 * called is the caller's to put into err->file.
 * ADP_ESYNTAX: not a metrics page (err names line, column and what it looks like);
 * ADP_EFULL: a bound of core/metrics.h, or a page of 4 GiB; ADP_ENOMEM. On failure
 * `metrics` is empty. [control] An empty page, or one with comments only, is a page
 * without series, not an error. */
int adp_promtext_read(struct adp_metrics *metrics, const char *page, size_t len,
                      struct adp_promtext_found *ret, struct adp_error *err);

#endif
