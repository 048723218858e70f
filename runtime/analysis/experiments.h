/* SPDX-License-Identifier: MIT */
/* Which experiments there are: their policies, repeats, baselines, copies. */
#ifndef ADP_ANALYSIS_EXPERIMENTS_H
#define ADP_ANALYSIS_EXPERIMENTS_H

#include "core/error.h"

#include <stddef.h>
#include <stdio.h>

struct adp_experiments; /* opaque */

/* Reads the files and folders as adp_report_read does. [control] */
int adp_experiments_read(const char *const *paths, size_t n, struct adp_experiments **ret,
                         struct adp_error *err);
void adp_experiments_destroy(struct adp_experiments *experiments);
/* At most 80 columns. ADP_EIO. */
int adp_experiments_print(const struct adp_experiments *experiments, FILE *to);
/* {"experiments":[{experiment notes has_baseline policies:[{policy params baseline repeats
 * runs:[{run verdict offered logs:[…] copy_of}]}]}] not_counted:[…] mixtures:[…]}. ADP_EIO,
 * ADP_ENOMEM. */
int adp_experiments_json(const struct adp_experiments *experiments, FILE *to);
/* A line for each path that was passed over: what JSON has no place for. */
void adp_experiments_unread(const struct adp_experiments *experiments, FILE *to);

#endif
