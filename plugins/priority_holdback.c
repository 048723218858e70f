/* SPDX-License-Identifier: MIT */
/* priority_holdback: the lower a request's priority, the lower the saturation at which it
 * is deferred.
 *
 * llm-d's priority holdback (llm-d-router, pkg/epp/framework/plugins/flowcontrol/
 * usagelimits/priorityholdback/priority_holdback.go, ComputeLimit) with its saturation
 * (admitperf/pool.h). Of N priorities seen lately, the i-th from the top (0: highest) has
 * the ceiling
 *
 *     by rank:   max − i · (max − min) / (N − 1)
 *     by value:  min + (priority − lowest) / (highest − lowest) · (max − min)
 *
 * and max when it is the only one; a request is deferred at or above its ceiling. A
 * request without a priority is of priority 0, as there.
 *
 * The source holds requests back in its own queue; at an ingress that is a defer. Its
 * Retry-After: the share of what is in flight that must leave before saturation is at the
 * ceiling, at the rate at which requests were seen to leave. Added: a probe, because a
 * pool from which everything is held back freezes its own gauges (vLLM #29928).
 *
 * State: the priorities seen lately (at most 64), what is in flight, how fast it leaves.
 * docs/policies/priority_holdback.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/pool.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum { QUEUE, KV };
enum {
    MIN_CEILING,
    MAX_CEILING,
    BY_VALUE,
    IDLE_S,
    QUEUE_DEPTH_THRESHOLD,
    KV_THRESHOLD,
    ABSENT_SATURATED,
    ENGINES,
    PROBE_MS
};
enum { LAYOUT = 3, LAYOUT_LEVELS, LEVELS = 64 };
static const uint64_t RATE_WINDOW_NS = 10u * UINT64_C(1000000000);
static const double RETRY_CAP_MS = 30000.0; /* llm-d #2487 */
static const double RETRY_SPREAD = 0.5;

static const adp_signal signals[] = {
    [QUEUE] = { .name = "queue_depth", .unit = "requests", .flags = ADP_REPLICAS },
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};

/* Those of a combination that create refuses change with a new instance alone. */
static const adp_param params[] = {
    [MIN_CEILING] = { .name = "min_ceiling",
                      .unit = "ratio",
                      .doc = "saturation at which the lowest priority is deferred",
                      .lo = 0.0,
                      .hi = 1.0,
                      .kind = ADP_F64,
                      .flags = ADP_REQUIRED | ADP_FIXED },
    [MAX_CEILING] = { .name = "max_ceiling",
                      .unit = "ratio",
                      .doc = "saturation at which the highest priority is deferred",
                      .lo = 0.0,
                      .hi = 1.0,
                      .dflt = 1.0,
                      .kind = ADP_F64,
                      .flags = ADP_FIXED },
    [BY_VALUE] = { .name = "by_value",
                   .unit = "",
                   .doc = "ceilings follow the priorities' values, not their ranks",
                   .lo = 0.0,
                   .hi = 1.0,
                   .dflt = 0.0,
                   .kind = ADP_BOOL },
    [IDLE_S] = { .name = "idle_s",
                 .unit = "s",
                 .doc = "a priority not seen for this long is ranked no more",
                 .lo = 1.0,
                 .hi = 86400.0,
                 .dflt = 600.0,
                 .kind = ADP_I64 },
    [QUEUE_DEPTH_THRESHOLD] = { .name = "queue_depth_threshold",
                                .unit = "requests",
                                .doc = "requests waiting in an engine at its capacity",
                                .lo = 1.0,
                                .hi = 1e9,
                                .dflt = 5.0,
                                .kind = ADP_I64 },
    [KV_THRESHOLD] = { .name = "kv_threshold",
                       .unit = "ratio",
                       .doc = "share of the KV cache in use in an engine at its capacity",
                       .lo = 0.001,
                       .hi = 1.0,
                       .dflt = 0.8,
                       .kind = ADP_F64 },
    [ABSENT_SATURATED] = { .name = "absent_saturated",
                           .unit = "",
                           .doc = "an absent reading counts as saturated; else left out",
                           .lo = 0.0,
                           .hi = 1.0,
                           .dflt = 1.0,
                           .kind = ADP_BOOL },
    [ENGINES] = { .name = "engines",
                  .unit = "",
                  .doc = "engines behind the readings, where none is given per engine",
                  .lo = 1.0,
                  .hi = 1e6,
                  .dflt = 1.0,
                  .kind = ADP_I64 },
    [PROBE_MS] = { .name = "probe_ms",
                   .unit = "ms",
                   .doc = "admits one request this often while nothing moves; 0: never",
                   .lo = 0.0,
                   .hi = 3600000.0,
                   .dflt = 1000.0,
                   .kind = ADP_I64 },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "fairness",
    .signal_quantity = "kv_pressure",
    .signal_structure = "scalar",
    .metadata_assumed = "priority class",
    .portability = "A",
    .source = "llm-d-router: usagelimits/priorityholdback/priority_holdback.go",
    .margin_unit = "ratio",
};

struct learnt { /* what is saved, beside the priorities */
    struct adp_probe probe;
    struct adp_rate left; /* requests that ended */
    struct adp_life life; /* what a life before had in flight is not in flight here */
};

struct holdback {
    struct learnt learnt;
    double in_flight;
    struct adp_table *levels; /* key: the priority's bits; no payload; in this block */
};

static void *create(const adp_setup *setup)
{
    if (!(setup->param[MIN_CEILING] < setup->param[MAX_CEILING]))
        return adp_cannot(setup, "min_ceiling is not below max_ceiling");
    struct holdback *h = calloc(1, sizeof *h + (size_t)adp_table_bytes(LEVELS, 0));
    if (!h)
        return adp_cannot(setup, "out of memory");
    h->levels = adp_table_init(h + 1, LEVELS, 0);
    uint64_t at = adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &h->learnt,
                                 sizeof h->learnt);
    if (!at || !adp_table_restore(h->levels, (const char *)setup->saved + at,
                                  setup->saved_len - at, LAYOUT_LEVELS))
        h->learnt = (struct learnt) { 0 };
    adp_life_restore(&h->learnt.life);
    return h;
}

/* From one priority up to another. Of the integers, whose difference no int64_t may hold:
 * neighbours beyond 2^53 are one and the same double. */
static double distance(int64_t from, int64_t to)
{
    return (double)((uint64_t)to - (uint64_t)from);
}

/* The ceiling of a priority among those seen in the last idle_s, which it now is. */
static double ceiling(struct holdback *h, const adp_view *v, int64_t priority)
{
    const double *param = v->param;
    const uint64_t idle_ns = (uint64_t)param[IDLE_S] * UINT64_C(1000000000);
    uint64_t key = 0, used_ns = 0;
    adp_table_touch(h->levels, (uint64_t)priority, v->now_ns, NULL);
    while (adp_table_oldest(h->levels, &key, &used_ns) && key != (uint64_t)priority &&
           adp_time_past(v->now_ns, used_ns, idle_ns))
        adp_table_remove(h->levels, key);

    uint32_t above = 0, n = h->levels->count;
    int64_t lowest = priority, highest = priority;
    for (struct adp_row *row = adp_table_next(h->levels, NULL); row;
         row = adp_table_next(h->levels, row)) {
        int64_t other = (int64_t)row->key;
        above += other > priority;
        lowest = other < lowest ? other : lowest;
        highest = other > highest ? other : highest;
    }
    double spread = param[MAX_CEILING] - param[MIN_CEILING];
    if (n == 1)
        return param[MAX_CEILING];
    if (param[BY_VALUE] == 0.0)
        return param[MAX_CEILING] - above * spread / (n - 1u);
    return param[MIN_CEILING] +
           distance(lowest, priority) / distance(lowest, highest) * spread;
}

/* How long until saturation is at the ceiling, if a share of what is in flight must leave
 * for that, and one request at least. */
static double retry_ms(struct holdback *h, const adp_view *v, double saturation,
                       double to)
{
    double leave = saturation > 0.0 ? h->in_flight * (saturation - to) / saturation : 0.0;
    double per_s = adp_rate_per_s(&h->learnt.left, v->now_ns, RATE_WINDOW_NS);
    double ms = adp_drain_ms(leave > 1.0 ? leave : 1.0, per_s, RETRY_CAP_MS);
    return adp_jitter_ms(ms, RETRY_SPREAD, v->draw);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct holdback *h = self;
    const double *param = v->param;
    const struct adp_pool_rule rule = {
        .n_signals = ADP_COUNT(signals),
        .queue = QUEUE,
        .kv = KV,
        .queue_threshold = param[QUEUE_DEPTH_THRESHOLD],
        .kv_threshold = param[KV_THRESHOLD],
        .engines = param[ENGINES],
        .absent_saturated = param[ABSENT_SATURATED] != 0.0,
    };
    struct adp_pool pool = adp_pool_read(v, &rule);
    double to =
        ceiling(h, v, v->request->present & ADP_PRIORITY ? v->request->priority : 0);
    bool held = pool.present && pool.saturation >= to;
    bool probe = held && adp_probe_due(&h->learnt.probe, pool.saturation, v->now_ns,
                                       (uint64_t)param[PROBE_MS] * 1000000u);
    if (pool.present && !probe)
        adp_margin(w, pool.saturation - to);
    if (held && !probe) {
        bool known = pool.known >= to;
        adp_defer(w, adp_pool_reason(&pool, &rule, known),
                  known ? pool.binding : ADP_NONE, retry_ms(h, v, pool.saturation, to));
        return;
    }
    if (!held)
        adp_probe_open(&h->learnt.probe);
    h->in_flight++;
    w->ticket = adp_life_ticket(&h->learnt.life, 0, v->now_ns);
    adp_admit(w);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct holdback *h = self;
    if (o->kind == ADP_DONE || o->kind == ADP_FAILED || o->kind == ADP_CANCELLED)
        adp_rate_add(&h->learnt.left, 1.0, o->now_ns, RATE_WINDOW_NS);
    if (adp_life_gave(&h->learnt.life, o->ticket) && h->in_flight > 0.0)
        h->in_flight--;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct holdback *h = self;
    uint64_t at = adp_saved_write(to, cap, LAYOUT, &h->learnt, sizeof h->learnt);
    uint64_t levels =
        at ? adp_table_save(h->levels, (char *)to + at, cap - at, LAYOUT_LEVELS) : 0;
    return levels ? at + levels : 0;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "priority_holdback",
    .version = "1.0",
    .doc = "defers low priorities at a lower saturation than high ones",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved =
        ADP_SAVED_BYTES(sizeof(struct learnt)) + ADP_TABLE_SAVED_BYTES(LEVELS, 0),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
