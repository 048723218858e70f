/* SPDX-License-Identifier: MIT */
/* How a run went over time, as lines of small bars. */
#ifndef ADP_ANALYSIS_OVERTIME_H
#define ADP_ANALYSIS_OVERTIME_H

#include "runtime/analysis/tally.h"

#include <stdio.h>

/* Prints nothing when all lines are of one time. */
void adp_overtime_print(FILE *to, const struct adp_run *run);

#endif
