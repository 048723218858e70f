/* SPDX-License-Identifier: MIT */
/* Signals that end us, as far as whoever started us lets them. */
#ifndef ADP_SUPERVISE_HEEDED_H
#define ADP_SUPERVISE_HEEDED_H

#include <signal.h>

/* Who started us may have it ignored, as a script has SIGINT for what goes on in its background:
 * blocked and read it would stop us all the same. */
static inline void adp_add_unless_ignored(sigset_t *set, int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

#endif
