/* SPDX-License-Identifier: MIT */
/* Checking a policy's file against the contract of <admitperf/policy.h>: what lives in
 * this room is the list of checks (docs/checks.md), the machine that runs each of them,
 * and the report. What to do about the answer is the caller's.
 *
 *  1. Each check runs in a process of its own, with a time limit: a policy that crashes,
 *     hangs, exits or leaves a mess is that check's failure, never ours.
 *  2. A failure says which rule is broken, what was seen, and how to mend it.
 *  3. The same file is asked the same: streams of requests come from a seed that is taken
 *     from the file's bytes, unless one is given.
 *  4. A check whose question makes no sense yet (no tables can be read from a file that
 *     cannot be mapped) or at all (no `save` to be tried) is skipped, and says why.
 *
 * The room: check.c holds the list and runs it, child.c the processes, trial.c what a
 * check says, subject.c the policy under check, traffic.c its requests, verdict.c its
 * answers, hooks.c and trap.c what it may not do; the checks are in the files named after
 * what they ask. Linux only. */
#ifndef ADP_RUNTIME_CHECK_H
#define ADP_RUNTIME_CHECK_H

#include "core/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ADP_CHECKS_MAX  48u
#define ADP_CHECK_SEEN  768u  /* bytes of `seen`, its NUL included */
#define ADP_CHECK_LIMIT 20000 /* ms of computing, and of waiting: unless one is given */

enum adp_check_status { ADP_CHECK_PASS, ADP_CHECK_FAIL, ADP_CHECK_SKIP };

struct adp_policy_setting;

/* Zero: the whole list, as it is meant. */
struct adp_check_options {
    const char *only;   /* an id: this one, and those it stands on if they fail */
    const char *config; /* what `config:` would hold, as JSON; NULL: none */
    /* `params:` as an operator would give some of them, in the place of the defaults: they
     * are what is usual. Borrowed; NULL: none. */
    const struct adp_policy_setting *given;
    uint64_t budget_ns; /* of decide, at the 99th percentile; 0: measured, not judged */
    uint32_t seed;      /* 0: from the file's bytes */
    uint32_t limit_ms;  /* of each check, for few signals; 0: ADP_CHECK_LIMIT */
    uint32_t percent;   /* of the usual number of requests; 0: 100 */
    /* Not 0: stop. Looked at between checks, and when a signal arrives. NULL: none. */
    const volatile sig_atomic_t *stop;
};

struct adp_check_result {
    const char *id, *title; /* static */
    const char *mend;       /* static; NULL unless it failed */
    uint32_t rule;          /* of docs/abi.md */
    enum adp_check_status status;
    double ms;                 /* that it took */
    char seen[ADP_CHECK_SEEN]; /* failed: what was seen; passed: what is worth knowing;
                                  skipped: why; or "" */
};

struct adp_check_report {
    char path[1024], sha256[65];
    char policy[64]; /* its name, once it could be read; or "" */
    uint32_t seed, n, passed, failed, skipped;
    struct adp_check_result results[ADP_CHECKS_MAX]; /* n */
};

/* Runs the checks. `path` is absolute; `options` may be NULL. Fills *ret and returns 0,
 * whatever the checks found. ADP_EINVAL: no check is called `only` (the nearest is
 * named), `config` is no JSON object, `given` does not fit what the policy declares, or
 * the file changed while it was checked, so that nothing in *ret is worth reading;
 * ADP_ESTATE: stopped; ADP_EFULL: limits of this process (ulimit) are too low, or the machine
 * gave a check next to no time, which nobody can make of it that it passed; ADP_ENOENT,
 * ADP_EABI, ADP_EFULL, ADP_EIO: the file cannot be read, or this host can load no copy of it
 * (adp_file_read, adp_copy_create); ADP_ENOMEM. Starts processes: the caller must have one
 * thread. [control] */
int adp_check_run(struct adp_check_report *ret, const char *path,
                  const struct adp_check_options *options, struct adp_error *err);

/* Check i of the list, without status; false behind the last. [any] */
bool adp_check_listed(struct adp_check_result *ret, uint32_t i);

/* One line for each check, and below a failure what was seen and how to mend it. */
void adp_check_print(FILE *to, const struct adp_check_report *report);
/* One object. ADP_ENOMEM, ADP_EIO. */
int adp_check_print_json(FILE *to, const struct adp_check_report *report,
                         struct adp_error *err);

#endif
