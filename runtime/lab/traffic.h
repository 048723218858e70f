/* SPDX-License-Identifier: MIT */
/* Traffic: who arrives when and how long each takes to serve, fixed before the first
 * decision of a run.
 *
 *  1. Nothing a policy decides can change it: every policy of a repeat faces the same
 *     traffic, request by request.
 *  2. Arrivals and service times come from separate generators.
 *  3. Arrivals are in order of their ticks; request ids are distinct.
 *
 * It does not know the engine (engine.h) that serves it. */
#ifndef ADP_RUNTIME_LAB_TRAFFIC_H
#define ADP_RUNTIME_LAB_TRAFFIC_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* What is drawn: ADP_TRAFFIC_REQUESTS requests, Poisson with mean 10 per tick from tick 1
 * on, each served for 12 ticks +-35 %: the integers 7..16, evenly. */
#define ADP_TRAFFIC_REQUESTS    400u
#define ADP_TRAFFIC_MEAN        10u /* arrivals per tick; adp_random_poisson_10 */
#define ADP_TRAFFIC_SERVICE_MIN 7u
#define ADP_TRAFFIC_SERVICE_MAX 16u

/* What is read: bounds of a file. */
#define ADP_TRAFFIC_MAX_REQUESTS 100000u
#define ADP_TRAFFIC_MAX_BYTES    (8u << 20)
#define ADP_TRAFFIC_MAX_TICK     1000000000u
#define ADP_TRAFFIC_MAX_SERVICE  1000000u
#define ADP_TRAFFIC_MAX_ID       64u

struct adp_arrival {
    char id[ADP_TRAFFIC_MAX_ID + 1];
    uint32_t tick;          /* of arrival */
    uint32_t service_ticks; /* at least 1; 0: none drawn, it was never admitted */
    uint32_t line, column;  /* of the service in the file it was read from; 0: drawn */
};

struct adp_traffic {
    struct adp_arrival *arrivals; /* owned */
    uint32_t n;
    char file[256]; /* where it was read from, cut; "": drawn */
};

/* Draws the traffic of a repeat (1, 2, …): ids r0, r1, …, as (seed, repeat) say and
 * nothing else. ADP_ENOMEM. */
int adp_traffic_draw(struct adp_traffic *ret, uint64_t seed, uint32_t repeat,
                     struct adp_error *err);

/* Reads `request,arrival_tick,service_ticks`, a header line and one line per request, in
 * the order of arrival; the last line, too, ends in a line feed. An empty service: none
 * drawn. An id is printable ASCII without blank, quote and comma; numbers are plain
 * digits. `name` stands for the file in messages. ADP_ESYNTAX with the place, ADP_EFULL,
 * ADP_ENOMEM; ADP_ENOENT, ADP_EIO for a file. */
int adp_traffic_read_text(struct adp_traffic *ret, const char *text, size_t len,
                          const char *name, struct adp_error *err);
int adp_traffic_read_file(struct adp_traffic *ret, const char *path,
                          struct adp_error *err);

/* Frees what a successful call above filled, or a zeroed one. */
void adp_traffic_finish(struct adp_traffic *traffic);

#endif
