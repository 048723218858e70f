/* SPDX-License-Identifier: MIT */
/* How far reading is: a line on stderr that is written over and taken away. What is done in
 * half a second shows none. */
#include "runtime/cli/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static const double PATIENCE = 0.5, BETWEEN = 0.2; /* seconds */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tell(void *context, uint64_t done, uint64_t total)
{
    struct adp_cli_progress *shown = context;
    double at = now();
    if (at - shown->begun < PATIENCE || at - shown->shown < BETWEEN)
        return;
    shown->shown = at;
    shown->there = true;
    if (total)
        fprintf(stderr, "\rreading: %" PRIu64 " of %" PRIu64 " MB ", done / 1000000,
                total / 1000000);
    else
        fprintf(stderr, "\rreading: %" PRIu64 " MB ", done / 1000000);
}

const struct adp_progress *adp_cli_progress_init(struct adp_cli_progress *shown)
{
    *shown =
        (struct adp_cli_progress) { .begun = now(), .terminal = isatty(STDERR_FILENO) };
    shown->progress = (struct adp_progress) { tell, shown };
    return shown->terminal ? &shown->progress : NULL;
}

void adp_cli_progress_finish(struct adp_cli_progress *shown)
{
    if (shown->there)
        fprintf(stderr, "\r%*s\r", 40, "");
}
