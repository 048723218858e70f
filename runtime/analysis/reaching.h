/* SPDX-License-Identifier: MIT */
/* Thresholds on kv_pressure that lie out of reach, by the arithmetic of capacity
 * (core/reach.h), for what a log tells.
 *
 * Capacity and the length of a request are as disclosed, or else as seen: the least
 * kv_capacity that the engine told, and the longest request of the log. How many requests run
 * at one time at most is not to be seen in a log (a light load is no limit), so without its
 * disclosure nothing is said. */
#ifndef ADP_ANALYSIS_REACHING_H
#define ADP_ANALYSIS_REACHING_H

#include "core/reach.h"
#include "runtime/analysis/tally.h"

struct adp_reaching {
    struct adp_reach reach; /* all three are known */
    double ceiling;
    bool capacity_seen, length_seen; /* not disclosed: from the readings, from requests */
    bool open_ended;                 /* length_seen, of prompts alone for some */
    double passed; /* kv_pressure that was seen above the ceiling, so it is none; NaN */
};

/* False: too little is known. [any] */
bool adp_reaching_of(const struct adp_run *run, struct adp_reaching *ret);

/* Can the gate never hold? [any] */
bool adp_reaching_misses(const struct adp_reaching *reaching,
                         const struct adp_part_gate *gate);

/* What is to be said of the gate, a sentence without its stop: that it cannot be reached, or
 * that the ceiling was passed. False: nothing. */
enum { ADP_REACHING_WORDS = 512 };
bool adp_reaching_words(const struct adp_run *run, const struct adp_part_gate *gate,
                        char to[ADP_REACHING_WORDS]);

#endif
