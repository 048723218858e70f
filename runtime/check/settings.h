/* SPDX-License-Identifier: MIT */
/* What the system and libc keep for a process or a thread, and can be asked for: timers,
 * limits, priorities, what prctl and /proc/self/status tell. Each is a name and a text, so that
 * two looks are compared without knowing what they mean.
 *
 * What nobody can be asked for is not here: handlers of pthread_atfork, mallopt, the seed of
 * rand. What is here stands in docs/checks.md. */
#ifndef ADP_RUNTIME_CHECK_SETTINGS_H
#define ADP_RUNTIME_CHECK_SETTINGS_H

#include "runtime/check/trial.h"

enum { ADP_SETTINGS = 96 };

struct adp_setting {
    char name[56], value[88];
};

struct adp_settings {
    uint32_t n;
    struct adp_setting row[ADP_SETTINGS];
    /* Memory that may not be swapped out ("8 kB"): an instance may have some while it lives,
     * so it is no row. */
    char locked[24];
};

/* As no policy would set them, where that does no harm to this process: an alarm that waits
 * for months, so that another in its place and none at all are changes; a stack for signals;
 * an odd slack of timers; a priority that is one lower. */
void adp_settings_set_odd(void);
void adp_settings_read(struct adp_settings *ret);
/* Ends the check when the two differ: "<what> changed <name>: ...". */
void adp_settings_compare(struct adp_trial *trial, const char *what,
                          const struct adp_settings *before,
                          const struct adp_settings *after);

/* How many keys pthread_key_create would give this process now. */
uint32_t adp_settings_free_keys(void);

#endif
