/* SPDX-License-Identifier: MIT */
/* Calls of a policy into libc, led past us: the slots through which the policy's file,
 * and libraries that came with it, reach malloc, clock_gettime and the like are pointed at
 * functions here. So are libc's own, of malloc, calloc, realloc and free alone
 * (adp_hooks_watch_memory). Nobody else's calls are touched.
 *
 *  1. Only what goes through such a slot is seen. A read of the cycle counter is not;
 *     answers that differ are what is left to see it by.
 *  2. One process, one thread, for good: for the child of a check. */
#ifndef ADP_RUNTIME_CHECK_HOOKS_H
#define ADP_RUNTIME_CHECK_HOOKS_H

#include "runtime/check/trial.h"

#include <stdint.h>

/* Objects that are mapped before this call are left alone, libstdc++ and libgcc_s apart,
 * through which C++ allocates. To be called before the policy is loaded. */
void adp_hooks_prepare(struct adp_trial *trial);

/* From now on the policy allocates through us, and libc while the policy calls it. */
void adp_hooks_watch_memory(void);

struct adp_memory {
    uint64_t blocks, bytes; /* live: allocated since adp_hooks_watch_memory, not freed */
    uint64_t calls;         /* of malloc and its kin */
    uint64_t mapped;        /* bytes of mmap that munmap has not given back */
};
struct adp_memory adp_hooks_memory(void);
/* The nth allocation from now on fails, once; 0: none does. */
void adp_hooks_fail_nth(uint64_t nth);
/* Whether it has failed, since the last nth that was not 0. */
bool adp_hooks_has_failed(void);

/* From now on a call for time, chance, the environment, a file, a thread or a process
 * ends the check: "calls clock_gettime in decide". */
void adp_hooks_forbid_outside(void);

/* From now on the clocks that the policy asks by name stand still, and no system call is made
 * for it on any machine. */
void adp_hooks_stop_clock(void);

#endif
