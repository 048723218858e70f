/* SPDX-License-Identifier: MIT */
/* The one list of the system calls that a process may make in which a policy's code runs: a
 * seccomp filter. What is not on it is not made, and ends the process's work. */
#ifndef ADP_RUNTIME_CHECK_FENCE_H
#define ADP_RUNTIME_CHECK_FENCE_H

#include <stdbool.h>

/* Whose the process is. */
enum adp_fence {
    /* `policies`: it loads the file and reads its tables, in one thread. */
    ADP_FENCE_LOOK = 1,
    /* `check`: it calls the policy as well, in threads, and has filters of its own to set
     * (trap.h). */
    ADP_FENCE_CHECK = 2,
    /* The same, and it may fork: what of it calls the policy has a filter against that. */
    ADP_FENCE_FORK = 4
};

/* From here on, for this thread and whatever it makes, for good; descriptors above 2 are
 * closed, whoever left them open. `refused` is told the number of each call that is not
 * on the list, in a signal's handler (SIGSYS, whose action cannot be changed any more), and
 * ends the process. Where SIGSYS is blocked it cannot be told, and the signal itself
 * ends it. Signals go to this process alone: one that it forks can send none, not even to itself.
 *
 * False: there is no fence, though the descriptors are closed. This system allows no filter,
 * or has no /proc/self/fd, without which the loader writes its copy into a folder. */
bool adp_fence_raise(enum adp_fence whose, void (*refused)(int number));

/* What a filter of one's own adds to its SECCOMP_RET_TRAP: then it is `asked` that is told, and
 * not whom the fence tells. Where both refuse a call, it is the filter that was set later. */
enum { ADP_FENCE_ASKED = 1 };
bool adp_fence_catch(void (*asked)(int number));

#endif
