/* SPDX-License-Identifier: MIT */
/* Making room for new logs without touching anybody else's. */
#ifndef ADP_RUNTIME_LAB_OLD_LOGS_H
#define ADP_RUNTIME_LAB_OLD_LOGS_H

#include "core/error.h"

/* Removes every r<n>.jsonl in OUT/EXPERIMENT/POLICY for each of `policies`
 * (NULL-terminated), after looking at all of them: unless each is a regular file that is
 * empty or whose first line has "experiment" EXPERIMENT, nothing is removed, and
 * ADP_EINVAL names the one that is not. Folders that are not there are fine. ADP_EIO:
 * the system said no. Other files are never touched. [control] */
int adp_old_logs_remove(const char *out, const char *experiment,
                        const char *const *policies, struct adp_error *err);

#endif
