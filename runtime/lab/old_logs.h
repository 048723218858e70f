/* SPDX-License-Identifier: MIT */
/* Making room for new logs without touching anybody else's. */
#ifndef ADP_RUNTIME_LAB_OLD_LOGS_H
#define ADP_RUNTIME_LAB_OLD_LOGS_H

#include "core/error.h"

#include <stddef.h>

/* Every r<n>.jsonl in OUT/EXPERIMENT/POLICY for each of `policies`. One is ours when it is a
 * regular file, no input, and empty or with a first line that has "experiment" EXPERIMENT,
 * and `notes` that begin so. Other files are never looked at. */
struct adp_old_logs {
    const char *out, *experiment;
    const char *const *policies; /* NULL ends them */
    const char *notes;           /* NULL: whatever they are */
    const char *const *inputs;   /* files that are read, known by device and inode */
    size_t n_inputs;
};

/* ADP_EINVAL names one that is not ours; ADP_EIO: the system said no. Folders that are not
 * there are fine. [control] */
int adp_old_logs_check(const struct adp_old_logs *old, struct adp_error *err);

/* After that check, and all or none of them: removes those but r1 to r<n_kept>. [control] */
int adp_old_logs_remove(const struct adp_old_logs *old, size_t n_kept,
                        struct adp_error *err);

/* Takes the folder OUT/EXPERIMENT, made if need be, for this writer alone: *ret_fd is open
 * until the end. Another one in it would mix its lines with ours, or replace them.
 * ADP_ESTATE: somebody has it; ADP_EINVAL, ADP_EIO. [control] */
int adp_old_logs_take_folder(const char *out, const char *experiment, int *ret_fd,
                             struct adp_error *err);

#endif
