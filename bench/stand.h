/* SPDX-License-Identifier: MIT */
/* What the benches run on: a runtime with the policy five_signals, a page as an engine
 * prints it, request ids, and the folder in which logs are written. */
#ifndef ADP_BENCH_STAND_H
#define ADP_BENCH_STAND_H

#include "runtime/host/host.h"

#include <stddef.h>
#include <stdint.h>

enum { STAND_IDS = 4096 };

struct stand_options {
    const char *log; /* a name below the folder, or a path from the root */
    bool own_thread; /* nothing is drained but by stand_flush */
    bool refuse;     /* every request, instead of admitting every one */
};

/* Each exits with a message on failure: a bench has no caller to tell. */
adp_runtime *stand_open(const struct stand_options *options);
void stand_close(adp_runtime *rt);
void stand_flush(adp_runtime *rt);
/* Publishes the five signals' metrics and as many more, twice: one is a growth. */
void stand_publish(adp_runtime *rt, uint32_t n_series);

/* A page of n_series with the five signals' metrics first. Owned by the caller. */
char *stand_page(uint32_t n_series, size_t *ret_len);
/* The same as a host gives it with a request. Borrowed for ever. */
const adp_metric *stand_metrics(uint32_t n_series);

/* The i-th of STAND_IDS ids of 36 bytes, as a gateway has them. */
const char *stand_id(uint64_t i);
void stand_path(const char *name, char *to, size_t cap);
_Noreturn void stand_fail(const char *what, const adp_error *err);

#endif
