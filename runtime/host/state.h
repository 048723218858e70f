/* SPDX-License-Identifier: MIT */
/* What a runtime is made of; private to this room.
 *
 *   open:  config, loaded, params, instances → one generation      (no memory shared, no
 * thread) start: region, publisher, drain, log lanes: made on demand, kept for the life
 * of the runtime, reused after close */
#ifndef ADP_RUNTIME_HOST_STATE_H
#define ADP_RUNTIME_HOST_STATE_H

#include "core/log.h"
#include "core/snapshot.h"
#include "core/ticket.h"
#include "runtime/host/host.h"
#include "runtime/host/params.h"

#include <pthread.h>

struct adp_runtime {
    struct adp_host_options options;
    struct adp_clock clock;
    struct adp_config *config;
    struct adp_loaded *loaded[ADP_MAX_POLICIES];
    struct adp_params params[ADP_MAX_POLICIES];
    struct adp_generation *generation;
    struct adp_generations generations;
    uint64_t hash;  /* the `config` key of every line */
    char *log_path; /* absolute; NULL: none */

    bool started;
    void *memory;
    size_t memory_bytes;
    struct adp_region *region;
    struct adp_publisher *publisher;
    struct adp_log *log;
    uint64_t settled_lost; /* tickets given up at close */

    /* Guards `lane` and `lane_open`: opening, closing and counting. Taken alone. */
    pthread_mutex_t lanes_mutex;
    struct adp_lane *lane[ADP_MAX_LANES];
    bool lane_open[ADP_MAX_LANES];
};

/* Loads the policies of rt->config, resolves their parameters, creates their instances.
 * Everything wrong goes into `errors`. */
int adp_host_assemble(struct adp_runtime *rt, struct adp_errors *errors);
/* Ends the instances and frees what adp_host_assemble made. */
void adp_host_disassemble(struct adp_runtime *rt);

#endif
