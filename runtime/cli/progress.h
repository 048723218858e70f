/* SPDX-License-Identifier: MIT */
/* How far reading is, on a terminal and nowhere else. */
#ifndef ADP_RUNTIME_CLI_PROGRESS_H
#define ADP_RUNTIME_CLI_PROGRESS_H

#include "runtime/analysis/logs.h"

#include <stdbool.h>

struct adp_cli_progress {
    struct adp_progress progress; /* what is handed to whoever reads */
    double begun, shown;          /* seconds of the monotonic clock */
    bool terminal, there;         /* there: a line stands on it */
};

/* In the caller's storage, which must outlive the reading. Returns what to hand on. */
const struct adp_progress *adp_cli_progress_init(struct adp_cli_progress *shown);
/* Takes the line away. */
void adp_cli_progress_finish(struct adp_cli_progress *shown);

#endif
