/* SPDX-License-Identifier: MIT */
/* Less for a process to do harm with, before it loads code that is only to be looked at. */
#ifndef ADP_RUNTIME_CHECK_SANDBOX_H
#define ADP_RUNTIME_CHECK_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* From here on, for this thread and whatever it makes, for good: half a gigabyte of data,
 * files of 64 MiB, twice `limit_s` of computing (whoever waits for the process gives it up at
 * that, and says so), and of system calls what fence.h has for ADP_FENCE_LOOK; `refused` as
 * there. False: there is no fence, the limits hold all the same. For a child (child.h). */
bool adp_sandbox_enter(uint32_t limit_s, void (*refused)(int number));

#endif
