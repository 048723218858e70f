/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same everywhere: the traffic of a simulation.
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
 * ACM TOMS 47(4), 2021), its state filled by splitmix64 as its authors advise. Nothing
 * here reads entropy or a clock, and no function keeps state of its own.
 *
 *  1. What a generator yields depends on (seed, repeat, stream) and nothing else.
 *  2. Two streams of one repeat are separate generators: how often one is asked never
 *     moves the other. */
#ifndef ADP_RUNTIME_LAB_RANDOM_H
#define ADP_RUNTIME_LAB_RANDOM_H

#include <stdint.h>

struct adp_random {
    uint64_t state[4];
};

/* A generator for one purpose (`stream`) of one repeat. */
void adp_random_init(struct adp_random *random, uint64_t seed, uint64_t repeat,
                     uint64_t stream);

/* 64 random bits. */
uint64_t adp_random_next(struct adp_random *random);

/* Uniform in [0, 1), a multiple of 2^-53: one draw. */
double adp_random_unit(struct adp_random *random);

/* Uniform over the integers lo..hi, both included, lo <= hi. Unbiased: draws that would
 * favour some values are thrown away, so it may take several. */
uint32_t adp_random_between(struct adp_random *random, uint32_t lo, uint32_t hi);

/* Poisson with mean 10, one draw: inversion by sequential search (Devroye, "Non-Uniform
 * Random Variate Generation", 1986, X.3.3), cut at 64, which has a chance of 10^-29. */
uint32_t adp_random_poisson_10(struct adp_random *random);

#endif
