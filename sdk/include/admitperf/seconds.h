/* SPDX-License-Identifier: MIT */
/* The last n seconds, one slot each: for counts over a window that must be exact to the
 * second, or of which the busiest second matters. (For a plain rate adp_rate in state.h
 * does with two counts.)
 *
 * The slots are the policy's: a ring of n counts of any kind, and their sum if it wants
 * one. This says which slot is now and which begin anew.
 *
 *     for (uint32_t gone = adp_seconds_roll(&s, now_ns, n); gone; gone--) {
 *         uint32_t i = adp_seconds_slot(&s, gone - 1, n);
 *         sum -= count[i];
 *         count[i] = 0;
 *     }
 *     count[adp_seconds_slot(&s, 0, n)]++, sum++;
 *
 * For SERIAL policies, or for whoever holds the lock. Zeroed storage is a good
 * beginning. */
#ifndef ADMITPERF_SECONDS_H
#define ADMITPERF_SECONDS_H

#include <admitperf/state.h>

#ifdef __cplusplus
extern "C" {
#endif

struct adp_seconds {
    uint64_t at; /* the second that runs, by the host's clock */
    uint64_t running;
};

/* Rolls on to `now_ns`. Returns how many of the n slots begin anew: 0 within a second and
 * for a step backwards that threads may see; n when all of them are older than n seconds,
 * or of another clock. `n` from 1, the same in every call. [hot]: the caller's loop is n
 * steps at most, and one per second that has passed. */
static inline uint32_t adp_seconds_roll(struct adp_seconds *s, uint64_t now_ns,
                                        uint32_t n)
{
    uint64_t second = now_ns / UINT64_C(1000000000), at = s->at;
    if (s->running && second <= at && at - second <= ADP_SKEW_NS / UINT64_C(1000000000))
        return 0;
    bool together = s->running && second > at && second - at < n;
    s->at = second;
    s->running = 1;
    return together ? (uint32_t)(second - at) : n;
}

/* The slot of the second `back` before the one that runs, `back` below n. [hot] */
static inline uint32_t adp_seconds_slot(const struct adp_seconds *s, uint32_t back,
                                        uint32_t n)
{
    return (uint32_t)((s->at % n + n - back) % n);
}

#ifdef __cplusplus
}
#endif
#endif
