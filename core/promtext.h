/* SPDX-License-Identifier: MIT */
/* Reads a metrics page: Prometheus text 0.0.4, or OpenMetrics 1.0.
 *
 * One bad line costs that line, not the page: a value that is no number (DCGM prints
 * "ERROR - FAILED TO CONVERT TO STRING", UUIDs, nothing) is skipped and counted, never
 * read as 0. What is not a metrics page at all (JSON, HTML, a NUL byte, only bad lines)
 * is refused whole.
 *
 * Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ and
 * https://prometheus.io/docs/specs/om/open_metrics_spec/ . Accepted beyond it: CRLF, a
 * UTF-8 byte order mark, no final newline, blanks and tabs around every token, trailing
 * comma in labels, quoted names as Prometheus 3 writes them ({"my.name",label="v"} 1),
 * dots in bare names, TYPE anywhere or twice.
 *
 * The two differ in three things here:
 *   timestamp  text: milliseconds, an integer (one with a point is taken for seconds, as
 *              some exporters write them); OpenMetrics: seconds
 *   exemplar   text: a bad line; OpenMetrics: nothing of it is read
 *   # EOF      text: a comment; OpenMetrics: the last line, without which the page was
 *              cut off
 *
 * A page of the shape of the one that `metrics` was filled from before (core/page_shape.h) is
 * not read but compared: the same result, many times as fast, and nothing is allocated. */
#ifndef ADP_CORE_PROMTEXT_H
#define ADP_CORE_PROMTEXT_H

#include "core/metrics.h"

/* What was found while reading. */
struct adp_promtext_found {
    uint32_t samples;          /* lines read, each into a series; duplicates among them */
    uint32_t bad_lines;        /* skipped */
    uint32_t first_bad_line;   /* 1-based; 0 when none */
    uint32_t first_bad_column; /* where it turned out bad; likewise */
    const char
        *first_bad_why; /* static words: "value is not a number", … ; NULL when none */
    bool openmetrics;   /* was read as such */
    bool repeated;      /* was compared with the page before, and only its values read */
};

/* What the server said the page is. */
enum adp_promtext_format {
    ADP_PROMTEXT_UNSAID, /* OpenMetrics if it ends with # EOF */
    ADP_PROMTEXT_TEXT,
    ADP_PROMTEXT_OPENMETRICS
};

/* From the value of a Content-Type header; NULL, "" and what is neither of the two types
 * (many exporters say text/html) are UNSAID. [any] */
enum adp_promtext_format adp_promtext_format(const char *content_type);

/* Clears `metrics` and reads `page[0..len)` into it. `ret` may be NULL. What a page was
 * called is the caller's to put into err->file.
 * ADP_ESYNTAX: not a metrics page (err names line, column and what it looks like);
 * ADP_EFULL: a bound of core/metrics.h, or a page of 4 GiB; ADP_ENOMEM. On failure
 * `metrics` is empty. [control] An empty page, or one with comments only, is a page
 * without series, not an error. */
int adp_promtext_read(struct adp_metrics *metrics, const char *page, size_t len,
                      struct adp_promtext_found *ret, struct adp_error *err);
/* The same for a page whose format is declared. ADP_ESYNTAX also for one declared to be
 * OpenMetrics that is cut off, or goes on behind its # EOF. */
int adp_promtext_read_as(struct adp_metrics *metrics, enum adp_promtext_format format,
                         const char *page, size_t len, struct adp_promtext_found *ret,
                         struct adp_error *err);

/* The bytes are JSON, HTML, gzip or binary, as those two would say, by how they begin, or by a NUL
 * byte anywhere. [any] */
bool adp_promtext_is_foreign(const char *page, size_t len);

#endif
