/* SPDX-License-Identifier: MIT */
/* Time as a parameter: core reads no clock of its own, whoever calls it brings one. */
#ifndef ADP_CORE_CLOCK_H
#define ADP_CORE_CLOCK_H

#include <stdint.h>

/* `wall` goes into the log, `mono` into views, expiry and deadlines; a simulation injects
 * both. `meter` measures what deciding costs and stays real. All in nanoseconds; [hot].
 */
struct adp_clock {
    void *ctx;
    uint64_t (*wall_ns)(void *ctx);
    uint64_t (*mono_ns)(void *ctx);
    uint64_t (*meter_ns)(void *ctx);
};

#endif
