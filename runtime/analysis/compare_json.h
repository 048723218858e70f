/* SPDX-License-Identifier: MIT */
/* The comparison as JSON (docs/reading-a-report.md has the keys). */
#ifndef ADP_ANALYSIS_COMPARE_JSON_H
#define ADP_ANALYSIS_COMPARE_JSON_H

#include "runtime/analysis/versus.h"

#include <stdio.h>

/* 0, ADP_ENOMEM or ADP_EIO. */
int adp_compare_write_json(const struct adp_compare *compare, FILE *to);

#endif
