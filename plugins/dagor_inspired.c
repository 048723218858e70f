/* SPDX-License-Identifier: MIT */
/* dagor_inspired: while requests wait too long, admits the more important ones only: each
 * request has a level, and those above the admitted level are rejected. Every window the
 * admitted level moves so that the number of admitted requests falls by `alpha` when the
 * window was overloaded, and rises by `beta` of all requests when it was not.
 *
 * From "Overload Control for Scaling WeChat Microservices" (DAGOR), SoCC 2018: detection
 * by mean queueing time (section 4.1), business and user priority (4.2.1, 4.2.2), the
 * histogram walk (Algorithm 1); its parameters (section 5). Caladan's port, breakwater/
 * src/dg_server.c, moves the level itself by 5 % and 1 %; here the paper's counts are
 * followed.
 *
 *     level   = business * 128 + user           0 is the most important
 *     business: from the request's priority, 8 and above is 0, 0 is 8, -7 and below is 15
 *     user:     hash of (tenant, hour) mod 128; without a tenant of the session, without
 *               either of the draw
 *     walk:     overloaded:  down until at most (1 - alpha) * admitted are at or below
 *               else:        up until admitted + beta * all are, or everything is open
 *
 * A user keeps a level for an hour: whoever is refused and tries again is refused again,
 * rather than another in his place, and the hour after it is somebody else's turn.
 *
 * Inspired: the paper measures how long requests were in the server's own queue. A
 * gateway sees no such queue: the wait is an estimate at each arrival, requests waiting
 * in the engines over the rate at which requests finish. Without one (no reading, no
 * rate yet) a window is not overloaded: the level rises again, it does not stay shut.
 *
 * State: histogram of 2,048 levels, the admitted level, the drain. The hours are those
 * of the host's monotonic clock. The probe (latch.h) is for a gauge that froze because
 * nothing is admitted. docs/policies/dagor_inspired.md. */
#include <admitperf/draw.h>
#include <admitperf/flight.h>
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum { WAITING };
enum { WAIT_MS, WINDOW_MS, WINDOW_REQUESTS, ALPHA, BETA, PROBE_MS };
enum { LAYOUT = 1, USERS = 128, BUSINESSES = 16, LEVELS = BUSINESSES * USERS };
enum { NORMAL = 8 };                   /* business of priority 0 */
#define DRAIN_NS UINT64_C(10000000000) /* over which the drain is measured */
#define HOUR_NS  UINT64_C(3600000000000)

static const adp_signal signals[] = {
    [WAITING] = { .name = "queue_depth", .unit = "requests" },
};

static const adp_param params[] = {
    [WAIT_MS] = { .name = "wait_ms",
                  .unit = "ms",
                  .doc = "overloaded when requests wait longer than this, on the mean",
                  .lo = 0.001,
                  .hi = 3600000.0,
                  .kind = ADP_F64,
                  .flags = ADP_REQUIRED },
    [WINDOW_MS] = { .name = "window_ms",
                    .unit = "ms",
                    .doc = "the level moves this often",
                    .lo = 10.0,
                    .hi = 3600000.0,
                    .dflt = 1000.0,
                    .kind = ADP_F64 },
    [WINDOW_REQUESTS] = { .name = "window_requests",
                          .unit = "requests",
                          .doc = "or after this many requests, if they come sooner",
                          .lo = 1.0,
                          .hi = 1e9,
                          .dflt = 2000.0,
                          .kind = ADP_I64 },
    [ALPHA] = { .name = "alpha",
                .unit = "ratio",
                .doc = "share of the admitted to lose after an overloaded window",
                .lo = 0.0,
                .hi = 1.0,
                .dflt = 0.05,
                .kind = ADP_F64 },
    [BETA] = { .name = "beta",
               .unit = "ratio",
               .doc = "share of all requests to gain after one that was not",
               .lo = 0.0001,
               .hi = 1.0,
               .dflt = 0.01,
               .kind = ADP_F64 },
    [PROBE_MS] = { .name = "probe_ms",
                   .unit = "ms",
                   .doc =
                       "admits one this long after the last, if the reading froze; 0: no",
                   .lo = 0.0,
                   .hi = 3600000.0,
                   .dflt = 5000.0,
                   .kind = ADP_F64 },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "stability",
    .signal_quantity = "wait_estimate",
    .signal_structure = "scalar",
    .metadata_assumed = "priority class",
    .portability = "A",
    .source = "in the spirit of DAGOR, SoCC 2018, section 4 and Algorithm 1",
    .margin_unit = "levels",
};

struct dagor {
    struct adp_rate drain;
    struct adp_probe probe;
    uint64_t start_ns; /* of the window; valid while all > 0 */
    uint64_t all;      /* requests of the window */
    uint64_t n_waits;
    double sum_waits_ms;
    double n_instances;
    uint64_t admitted; /* levels up to this one */
    uint32_t at[LEVELS];
};

static void *create(const adp_setup *setup)
{
    struct dagor *d = calloc(1, sizeof *d);
    if (!d)
        return adp_cannot(setup, "out of memory");
    if (!adp_saved_read(setup->saved, setup->saved_len, LAYOUT, d, sizeof *d) ||
        d->admitted >= LEVELS) {
        memset(d, 0, sizeof *d);
        d->admitted = LEVELS - 1;
    }
    d->n_instances = setup->n_instances ? setup->n_instances : 1;
    return d;
}

static uint32_t level_of(const adp_view *v)
{
    const adp_request *r = v->request;
    int64_t priority = r->present & ADP_PRIORITY ? r->priority : 0;
    int64_t business = priority >= NORMAL                ? 0
                       : priority <= NORMAL - BUSINESSES ? BUSINESSES - 1
                                                         : NORMAL - priority;
    uint64_t user, hour = v->now_ns / HOUR_NS;
    if (r->tenant)
        user = r->tenant_key;
    else if (r->session)
        user = r->session_key;
    else
        memcpy(&user, &v->draw, sizeof user);
    /* Mixed before they meet, so that no (user, hour) is another's by sum. */
    user = adp_mix64(adp_mix64(user) + hour) % USERS;
    return (uint32_t)business * USERS + (uint32_t)user;
}

/* Milliseconds that who joins the queue waits; negative: not known. */
static double wait_ms(struct dagor *d, const adp_view *v)
{
    double per_s = adp_rate_per_s(&d->drain, v->now_ns, DRAIN_NS) * d->n_instances;
    double slowest = 1e9 / (double)DRAIN_NS; /* nothing finished in all that time */
    if (!adp_has(v, WAITING) || d->drain.windows < 2)
        return -1.0;
    return v->signal[WAITING] * 1e3 / (per_s > slowest ? per_s : slowest);
}

/* Algorithm 1: moves the admitted level by what the window saw. */
static void adapt(struct dagor *d, const double *param)
{
    bool overloaded = d->n_waits && d->sum_waits_ms / (double)d->n_waits > param[WAIT_MS];
    uint64_t passed = 0; /* at or below the level */
    for (uint64_t i = 0; i <= d->admitted; i++)
        passed += d->at[i];
    if (overloaded) {
        double keep = (1.0 - param[ALPHA]) * (double)passed;
        while ((double)passed > keep && d->admitted > 0)
            passed -= d->at[d->admitted--];
    } else {
        double reach = (double)passed + param[BETA] * (double)d->all;
        while ((double)passed < reach && d->admitted < LEVELS - 1)
            passed += d->at[++d->admitted];
    }
}

static void turn_window(struct dagor *d, const adp_view *v)
{
    uint64_t window_ns = (uint64_t)(v->param[WINDOW_MS] * 1e6);
    if (d->all && !adp_time_past(v->now_ns, d->start_ns, window_ns) &&
        (double)d->all < v->param[WINDOW_REQUESTS])
        return;
    adapt(d, v->param); /* the first window has seen nothing: that moves nothing */
    d->start_ns = v->now_ns;
    d->all = d->n_waits = 0;
    d->sum_waits_ms = 0.0;
    memset(d->at, 0, sizeof d->at);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct dagor *d = self;
    turn_window(d, v);
    uint32_t level = level_of(v);
    double wait = wait_ms(d, v);
    d->all++;
    d->at[level] += d->at[level] < UINT32_MAX;
    if (wait >= 0.0) {
        d->n_waits++;
        d->sum_waits_ms += wait;
    }

    bool there = adp_has(v, WAITING);
    w->ticket = 1; /* refused or not: one that runs all the same drains the queue */
    adp_margin(w, (double)level - (double)d->admitted - 1.0);
    if (level <= d->admitted) {
        adp_admit(w);
        adp_probe_admitted(&d->probe, v->now_ns);
    } else if (adp_probe_due(&d->probe, there ? v->signal[WAITING] : -1.0, v->now_ns,
                             (uint64_t)(v->param[PROBE_MS] * 1e6))) {
        adp_admit(w);
        w->set &= ~(uint32_t)ADP_SET_MARGIN; /* the gate holds, and it passes */
    } else {
        adp_reject(w, ADP_R_CAPACITY_RESERVED, there ? WAITING : ADP_NONE);
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct dagor *d = self;
    if (adp_outcome_ran(o))
        adp_rate_add(&d->drain, 1.0, o->now_ns, DRAIN_NS);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    return adp_saved_write(to, cap, LAYOUT, self, sizeof(struct dagor));
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .n_params = ADP_COUNT(params),
    .signals = signals,
    .params = params,
    .name = "dagor_inspired",
    .version = "1.0",
    .doc = "while requests wait too long, admits important ones first, and users in turn",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct dagor)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
