/* SPDX-License-Identifier: MIT */
/* For tests of this room: a desk at a runtime whose policy refuses above 4 that wait, and
 * defers by 1500 ms. */
#ifndef ADP_TESTS_SIDECAR_SEAT_H
#define ADP_TESTS_SIDECAR_SEAT_H

#include "runtime/host/host.h"
#include "runtime/sidecar/facts.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adp_serve_setting seat_serve;
static struct adp_desk seat_desk;
static adp_runtime *seat_rt;

static inline void seat_waiting(const char *waiting)
{
    char page[64];
    snprintf(page, sizeof page, "vllm:num_requests_waiting %s\n", waiting);
    ck_assert_int_eq(adp_runtime_publish_text(seat_rt, page, strlen(page), NULL), 0);
}

static inline void seat_setup(void)
{
    adp_errors errors = { 0 };
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    int code = adp_host_open_text(&seat_rt,
                                  "version: 1\nlog: none\n"
                                  "policy: { use: queue_depth, params: { max_waiting: 4, "
                                  "retry_after_ms: 1500 } }\n",
                                  "t.yaml", NULL, NULL, &errors);
    ck_assert_msg(code == 0, "%s", errors.n ? errors.list[0].text : "");
    adp_errors_free(&errors);
    ck_assert_int_eq(adp_runtime_start(seat_rt, NULL), 0);
    memset(&seat_serve, 0, sizeof seat_serve);
    seat_serve.bytes_per_token = 4.0;
    adp_facts_settle(&seat_serve);
    ck_assert_int_eq(adp_desk_init(&seat_desk, seat_rt, &seat_serve, 65536, NULL), 0);
}

static inline void seat_teardown(void)
{
    adp_desk_finish(&seat_desk);
    adp_runtime_close(seat_rt, NULL);
}

static inline uint64_t seat_fates(enum adp_outcome_fate fate)
{
    return atomic_load(&seat_desk.counts.fates[fate]);
}

#endif
