/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM and SIGHUP as a flag. */
#include "runtime/cli/stop.h"

#include <stddef.h>

static volatile sig_atomic_t stopped;

static void set(int number)
{
    stopped = number;
}

void adp_stop_take(int number, const struct sigaction *action)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaction(number, action, NULL);
}

const volatile sig_atomic_t *adp_stop_watch(void)
{
    struct sigaction action = { .sa_handler = set, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    adp_stop_take(SIGINT, &action);
    adp_stop_take(SIGTERM, &action);
    adp_stop_take(SIGHUP, &action);
    return &stopped;
}
