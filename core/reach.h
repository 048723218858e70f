/* SPDX-License-Identifier: MIT */
/* Reach: how full a KV cache can get at all. A policy whose threshold lies above that never
 * fires, however heavy the load: 64 requests at a time, of 2168 tokens each, fill 0.361 of a
 * cache of 384000 tokens, and a threshold of 0.9 is out of reach until requests hold 5400.
 *
 * The bound counts every token of every request once. A prefix cache makes it lower, never
 * higher; engines allocate by the block, which adds less than a block for each request. */
#ifndef ADP_CORE_REACH_H
#define ADP_CORE_REACH_H

#include <stdbool.h>

/* Of one engine: of several, kv_pressure is the fullest one's, so that the one with the least
 * cache decides, and not their sum. 0 where it is not known. */
struct adp_reach {
    double capacity_tokens; /* what the cache holds */
    double concurrency;     /* requests that run at one time, at most */
    double request_tokens;  /* that one holds at its end, prompt and output */
};

/* True when all three are known: above 0 and finite. [any] */
bool adp_reach_known(const struct adp_reach *reach);

/* The highest kv_pressure there can be, at most 1. All three are known. [any] */
double adp_reach_ceiling(const struct adp_reach *reach);

/* Is a reading above the highest there can be, by more than rounding (1e-12 of it)? All three are
 * known. [any] */
bool adp_reach_is_passed(const struct adp_reach *reach, double reading);

/* True when a gate kv_pressure >= threshold (strict: >) can never hold. What lies within 1e-12 of
 * the threshold is equal to it. All three are known. [any] */
bool adp_reach_is_short_of(const struct adp_reach *reach, double threshold, bool strict);

/* Why not, and what it would take: "64 requests of 2168 tokens fill 0.361 of a cache of …". */
enum { ADP_REACH_WHY = 192 };
void adp_reach_why(const struct adp_reach *reach, double threshold, bool strict,
                   char to[ADP_REACH_WHY]);

/* The tokens a request must hold for kv_pressure to reach `threshold`; infinite where a double
 * cannot tell. Capacity and concurrency are known. [any] */
double adp_reach_tokens(const struct adp_reach *reach, double threshold);

#endif
