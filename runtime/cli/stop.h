/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) as a flag, for the commands that
 * have something to finish. The others die of them, as programs do. */
#ifndef ADP_RUNTIME_CLI_STOP_H
#define ADP_RUNTIME_CLI_STOP_H

#include <signal.h>

/* From now on the first of these signals sets the flag to its number, and interrupts a
 * call that blocks; the second kills. Returns the flag. */
const volatile sig_atomic_t *adp_stop_watch(void);

#endif
