/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM and SIGHUP as a flag. */
#include "runtime/cli/stop.h"

#include <stddef.h>

static volatile sig_atomic_t stopped;

static void set(int number)
{
    stopped = number;
}

const volatile sig_atomic_t *adp_stop_watch(void)
{
    struct sigaction action = { .sa_handler = set, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return &stopped;
}
