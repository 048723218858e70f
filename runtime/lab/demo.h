/* SPDX-License-Identifier: MIT */
/* The demo: the simulated engine driven through the real runtime, once per policy and
 * repeat. Configuration, loading, decisions and logs are the runtime's own; only time is
 * simulated.
 *
 *  1. All policies of a repeat face the same traffic, unless it is read from files that
 *     say otherwise.
 *  2. Equal (seed, repeats) write equal logs, except for what deciding cost.
 *  3. Of what was there before, only the demo's own logs are replaced:
 *     OUT/demo/POLICY/r<n>.jsonl whose first line says experiment "demo", or empty ones;
 *     and only once it is known that every policy loads and all traffic reads.
 *  4. A stopped demo leaves whole logs that hold every decision made. */
#ifndef ADP_RUNTIME_LAB_DEMO_H
#define ADP_RUNTIME_LAB_DEMO_H

#include "core/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define ADP_DEMO_EXPERIMENT  "demo"
#define ADP_DEMO_SEED        1u
#define ADP_DEMO_MAX_REPEATS 1000u

/* The policies compared, the baseline first; NULL-terminated. Names of shipped ones. */
extern const char *const adp_demo_policies[];

struct adp_demo_options {
    uint32_t repeats; /* 1..ADP_DEMO_MAX_REPEATS */
    uint64_t seed;
    const char *out;                   /* folder of the logs; made when not there */
    const char *traffic;               /* folder of POLICY-r<n>.csv; NULL: drawn */
    const volatile sig_atomic_t *stop; /* not 0: stop before the next decision. Or NULL */
    /* Told before each run; may be NULL. */
    void (*progress)(void *ctx, const char *policy, uint32_t repeat);
    void *ctx;
};

struct adp_demo_result {
    uint64_t decisions; /* made and written */
    bool stopped;
};

/* Runs it. On failure, `ret` still says how many decisions the logs hold. ADP_EINVAL: a
 * file in the way is not the demo's. Else the codes of the runtime (a policy that cannot
 * be loaded, a log that cannot be written) and of adp_traffic_read_file. [control] */
int adp_demo_run(const struct adp_demo_options *options, struct adp_demo_result *ret,
                 struct adp_error *err);

#endif
