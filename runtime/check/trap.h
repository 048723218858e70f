/* SPDX-License-Identifier: MIT */
/* System calls that end the check: the fence, which is around every check, and what some
 * ask besides, seccomp filters too. For good: for the child of a check, and this thread. */
#ifndef ADP_RUNTIME_CHECK_TRAP_H
#define ADP_RUNTIME_CHECK_TRAP_H

#include "runtime/check/trial.h"

#include <pthread.h>

enum adp_trap {
    /* Sockets, threads and processes: what no constructor may make. */
    ADP_TRAP_MAKING,
    /* What sets limits, alarms, a scheduling policy, filters of system calls for the whole
     * process, locks all of its memory or closes descriptors 0 to 2. A trap is such a
     * filter: none may be set after this one. */
    ADP_TRAP_SETTING,
    /* Processes, but no threads: what the fence itself refuses, unless it is to let a check
     * fork. It is told of as the fence's. */
    ADP_TRAP_FORKING,
    /* Every one but what ends the process. Those that read the clock too: what a policy asks
     * by name does not come so far (adp_hooks_stop_clock), and whoever sets this trap asks
     * for no time under it. */
    ADP_TRAP_ALL
};

/* False: this system allows no filter. */
bool adp_trap_set(struct adp_trial *trial, enum adp_trap trap);

/* The fence (fence.h), once for this process: before anything of the policy's is loaded, and
 * after all that the check itself has to write and fork. Where there is none, there is still
 * the process. */
void adp_trap_fence(struct adp_trial *trial);
/* The same for a check that forks beside the policy, whose code runs under ADP_TRAP_FORKING.
 * The process that is forked has the fence too, and may not even send itself a signal. */
void adp_trap_fence_to_fork(struct adp_trial *trial);

/* Makes a thread and a process under the fence, in a process of its own, with nothing of a
 * policy's in it. What the C library asks for there and does not get, because it is newer than
 * the fence, is never said to be a policy's: trial->own_call has it, and the checks below skip.
 * Once, before the first check. */
void adp_trap_rehearse(struct adp_trial *trial);
/* Whether there is, without anything of the policy's, what the checks need beside it: threads,
 * memory, a process, a filter of system calls. Asked when one of them found none. */
bool adp_trap_can_make(const struct adp_trial *trial);
/* For a check that makes threads or processes itself: skips where none can be made. */
void adp_trap_must_make(struct adp_trial *trial);
/* A thread of the check's own; where none can be made the check ends (adp_trial_lack). `attr` may
 * be NULL. */
void adp_trap_thread(struct adp_trial *trial, pthread_t *ret, const pthread_attr_t *attr,
                     void *(*work)(void *ctx), void *ctx);

#endif
