/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM and SIGHUP as a flag, for the commands that have something to finish. The others
 * die of them, as programs do. Which of them the caller has ignored stays ignored: SIGHUP by
 * nohup, SIGINT in the background of a script, which the terminal's Ctrl-C is not for. */
#ifndef ADP_RUNTIME_CLI_STOP_H
#define ADP_RUNTIME_CLI_STOP_H

#include <signal.h>

/* Takes a signal, unless it is ignored. */
void adp_stop_take(int number, const struct sigaction *action);

/* From now on the first of these signals sets the flag to its number, and interrupts a
 * call that blocks; the second kills. Returns the flag. */
const volatile sig_atomic_t *adp_stop_watch(void);

#endif
