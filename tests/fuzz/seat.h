/* SPDX-License-Identifier: MIT */
/* For targets that need a desk of the sidecar: one at a runtime that admits all. */
#ifndef ADP_TESTS_FUZZ_SEAT_H
#define ADP_TESTS_FUZZ_SEAT_H

#include "runtime/host/host.h"
#include "runtime/sidecar/facts.h"

#include <stdlib.h>

static struct adp_desk seat_desk;
static struct adp_serve_setting seat_serve;

/* Once; `more` fills in settings first, NULL: none. Where the build's policies are not to be found
 * this ends the process, as a test that is skipped. */
static inline void seat_open(void (*more)(struct adp_serve_setting *serve))
{
    static adp_runtime *rt;
    if (rt)
        return;
    /* A policy of the build, wherever this runs: by its name, or not at all. */
    if (adp_host_open_text(&rt, "version: 1\nlog: none\npolicy: { use: no_admission }\n",
                           "fuzz.yaml", NULL, NULL, NULL) < 0 ||
        adp_runtime_start(rt, NULL) < 0)
        exit(77);
    if (more)
        more(&seat_serve);
    adp_facts_settle(&seat_serve);
    if (adp_desk_init(&seat_desk, rt, &seat_serve, 65536, NULL) < 0)
        exit(77);
}

#endif
