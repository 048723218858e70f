/* SPDX-License-Identifier: MIT */
/* queue_depth: rejects when more than `max_waiting` requests wait in the engine; defers
 * instead when `retry_after_ms` is given.
 *
 * The survey's scalar heuristic (axis 4a), as AdmitPerf in Python ships it. A bound that
 * follows from the SLO: what one place in the queue costs is service time / slots, so
 *
 *     max_waiting = floor((slo_ttft - unloaded_ttft) * slots / service_time)
 *
 * An absent reading admits. `retry_after_ms` has no "unset" of its own, every parameter
 * carries a number: 0, its default, stands for "not given", which no retry time can
 * mean. */
#include <admitperf/policy.h>

enum { WAITING };
enum { MAX_WAITING, RETRY_AFTER_MS };

static const adp_signal signals[] = {
    [WAITING] = { .name = "queue_depth", .unit = "requests" },
};

static const adp_param params[] = {
    [MAX_WAITING] = { .name = "max_waiting",
                      .unit = "requests",
                      .doc = "refuses when more than this many requests wait",
                      .lo = 0.0,
                      .hi = 1e9,
                      .kind = ADP_I64,
                      .flags = ADP_REQUIRED },
    [RETRY_AFTER_MS] = { .name = "retry_after_ms",
                         .unit = "ms",
                         .doc = "defers by this much; 0, the default: rejects",
                         .lo = 0.0,
                         .hi = 86400000.0, /* one day */
                         .dflt = 0.0,
                         .kind = ADP_I64 },
};

static const adp_gate gates[] = {
    { .rule = 0, .signal = WAITING, .op = ADP_GT, .param = MAX_WAITING },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "stability",
    .signal_quantity = "queue_depth",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "AdmitPerf (Python): queue_depth",
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    if (!adp_gt(v, WAITING, MAX_WAITING))
        adp_admit(w);
    else if (v->param[RETRY_AFTER_MS] > 0.0)
        adp_defer(w, ADP_R_QUEUE_DEPTH, WAITING, v->param[RETRY_AFTER_MS]);
    else
        adp_reject(w, ADP_R_QUEUE_DEPTH, WAITING);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    ADP_TABLES(signals, params, gates),
    .name = "queue_depth",
    .version = "1.0",
    .doc = "refuses when more than a bound of requests wait in the engine",
    .card = &card,
    .threading = ADP_CONCURRENT,
    .decide = decide,
};
