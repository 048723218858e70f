/* SPDX-License-Identifier: MIT */
/* A report or a comparison as one file for a browser: the figures of --json, and the page that
 * draws them. It asks nobody for anything, and says so to the browser. */
#ifndef ADP_DASHBOARD_HTML_H
#define ADP_DASHBOARD_HTML_H

#include <stdio.h>

struct adp_report;
struct adp_compare;

/* 0, ADP_ENOMEM, ADP_EIO. */
int adp_html_report(const struct adp_report *report, FILE *to);
int adp_html_compare(const struct adp_compare *compare, FILE *to);

#endif
