/* SPDX-License-Identifier: MIT */
/* The clocks by which checks measure; the policy is given other times (traffic.h). */
#ifndef ADP_RUNTIME_CHECK_TIMING_H
#define ADP_RUNTIME_CHECK_TIMING_H

#include <stdint.h>
#include <time.h>

static inline uint64_t adp_timing_ns(clockid_t clock)
{
    struct timespec t = { 0, 0 };
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double adp_timing_ms(clockid_t clock)
{
    return (double)adp_timing_ns(clock) / 1e6;
}

#endif
