/* SPDX-License-Identifier: MIT */
/* Less for a process to do harm with, before it loads code that is only to be looked at. */
#ifndef ADP_RUNTIME_CHECK_SANDBOX_H
#define ADP_RUNTIME_CHECK_SANDBOX_H

#include <stdbool.h>

/* From here on, for this thread and whatever it makes, for good: five seconds of computing,
 * half a gigabyte of data, files of 64 MiB; no network, no other process or thread, no file
 * opened for writing, renamed, removed. What is forbidden fails with EPERM. False: this
 * system allows no filter, the limits hold all the same. For a child (child.h). */
bool adp_sandbox_enter(void);

#endif
