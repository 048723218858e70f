/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same everywhere: the traffic of a simulation. */
#include "runtime/lab/random.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

void adp_random_init(struct adp_random *random, uint64_t seed, uint64_t repeat,
                     uint64_t stream)
{
    uint64_t state = seed;
    state = splitmix64(&state) ^ repeat;
    state = splitmix64(&state) ^ stream;
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix64(&state);
}

uint64_t adp_random_next(struct adp_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double adp_random_unit(struct adp_random *random)
{
    return (double)(adp_random_next(random) >> 11) * 0x1p-53;
}

uint32_t adp_random_between(struct adp_random *random, uint32_t lo, uint32_t hi)
{
    uint64_t span = (uint64_t)hi - lo + 1;
    uint64_t fair = UINT64_MAX - UINT64_MAX % span; /* a multiple of span */
    uint64_t x;
    do
        x = adp_random_next(random);
    while (x >= fair);
    return lo + (uint32_t)(x % span);
}

uint32_t adp_random_poisson_10(struct adp_random *random)
{
    /* Constants and separate statements, not libm and one expression: the same sequence
     * of roundings on every machine. */
    double chance = 4.5399929762484854e-05; /* e^-10 */
    double below = chance;
    double u = adp_random_unit(random);
    uint32_t k = 0;
    while (u >= below && k < 64) {
        k++;
        chance *= 10.0;
        chance /= k;
        below += chance;
    }
    return k;
}
