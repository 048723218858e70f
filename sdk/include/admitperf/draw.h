/* SPDX-License-Identifier: MIT */
/* Chance for policies: several independent numbers from the one draw of a view, and a
 * Retry-After that is spread by them.
 *
 * view.draw comes from the request's id, so that a retried id draws the same and a replay
 * says the same. Whatever else a policy does by chance must come from it too, and must
 * not lean on it twice: a request that was refused because its draw was below p has a
 * small draw, and a Retry-After spread by that same number would bring the refused back
 * together.
 *
 *  1. Every function here is a pure function of its arguments. [hot], any thread.
 *  2. Numbers of different `n` from one draw, and of one `n` from different draws, are
 *     independent as far as a 64-bit mixer goes (splitmix64; Steele, Lea, Flood, OOPSLA
 *     2014, section 3). Not for secrets. */
#ifndef ADMITPERF_DRAW_H
#define ADMITPERF_DRAW_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* splitmix64's finaliser: each bit of the argument moves half the bits of the result. A
 * bijection, so different arguments stay different. */
static inline uint64_t adp_mix64(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* The n-th further number in [0, 1) of a draw; any n. The draw itself is none of them. */
static inline double adp_draw_nth(double draw, uint32_t n)
{
    uint64_t state;
    memcpy(&state, &draw, sizeof state);
    state += (n + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    /* 53 bits times 2^-53, exactly, in digits that C++ before 17 reads too. */
    return (double)(adp_mix64(state) >> 11) * 1.1102230246251565404236316680908203125e-16;
}

/* The number that adp_jitter_ms takes: leave it to that. */
#define ADP_DRAW_JITTER 0xffffffffu

/* A retry time in [ms, ms + spread·ms), by the draw; `spread` from 0. Never below `ms`:
 * who comes back before what was measured is refused again. Clients that all wait the
 * same time come back as one wave (deer-flow #4294). Not above 0, or NaN, stays what it
 * is: adp_defer then states no retry time. */
static inline double adp_jitter_ms(double ms, double spread, double draw)
{
    return ms > 0.0 ? ms + ms * spread * adp_draw_nth(draw, ADP_DRAW_JITTER) : ms;
}

#ifdef __cplusplus
}
#endif
#endif
