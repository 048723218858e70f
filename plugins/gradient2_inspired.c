/* SPDX-License-Identifier: MIT */
/* gradient2_inspired: admits while fewer than `limit` requests are in flight. The limit
 * follows the gradient between the long-term mean of the time to the first token and the
 * mean of the window that just ended: it shrinks while first tokens get later.
 *
 * From Netflix concurrency-limits (at 78a74b9, January 2026): limit/Gradient2Limit.java,
 * its windows from limit/WindowedLimit.java, its mean from
 * limit/measurement/ExpAvgMeasurement.java. Per window, with m = most in flight:
 *
 *     long  <- mean of the first 10 windows, then long + 2/(long_window+1) * (short-long)
 *     if long / short > 2:   long <- 0.95 * long, after this window
 *     if m < limit / 2:      no change: the limit is not what holds the load
 *     g     <- clamp(rtt_tolerance * long / short, 0.5, 1)
 *     limit <- clamp((1 - smoothing) * limit + smoothing * (g * limit + queue_size))
 *
 * Inspired: there the round trip is measured, which here would be mostly the length that
 * the client asked for. Changed besides: a window that has not seen `window_requests`
 * goes on instead of being thrown away (below 10 requests a second the original never
 * learns), and a request that ended without a first token counts with the time it took,
 * if that is above the long-term mean (left out, only the quick ones would be counted).
 *
 * State: the limit, the means, the window, the rate of landings; what is in flight is
 * not saved (flight.h). Limits are the deployment's: each of n instances keeps to a
 * share. docs/policies/gradient2_inspired.md. */
#include <admitperf/flight.h>
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum {
    INITIAL_LIMIT,
    MIN_LIMIT,
    MAX_LIMIT,
    SMOOTHING,
    QUEUE_SIZE,
    LONG_WINDOW,
    RTT_TOLERANCE,
    WINDOW_MS,
    WINDOW_REQUESTS,
    N_PARAMS
};
enum { LAYOUT = 2, WARM_UP = 10 };
#define SHORTEST_MS 0.1 /* WindowedLimit.minRttThreshold */

static const adp_param params[N_PARAMS] = {
    [INITIAL_LIMIT] = { .name = "initial_limit",
                        .unit = "requests",
                        .doc = "in flight at the start",
                        .lo = 1.0,
                        .hi = 1e6,
                        .dflt = 20.0,
                        .kind = ADP_I64,
                        .flags = ADP_FIXED },
    [MIN_LIMIT] = { .name = "min_limit",
                    .unit = "requests",
                    .doc = "the limit is never below this",
                    .lo = 1.0,
                    .hi = 1e6,
                    .dflt = 20.0,
                    .kind = ADP_I64,
                    .flags = ADP_FIXED },
    [MAX_LIMIT] = { .name = "max_limit",
                    .unit = "requests",
                    .doc = "the limit is never above this",
                    .lo = 1.0,
                    .hi = 1e6,
                    .dflt = 200.0,
                    .kind = ADP_I64,
                    .flags = ADP_FIXED },
    [SMOOTHING] = { .name = "smoothing",
                    .unit = "ratio",
                    .doc = "weight of the new limit against the one before",
                    .lo = 0.001,
                    .hi = 1.0,
                    .dflt = 0.2,
                    .kind = ADP_F64,
                    .flags = ADP_FIXED },
    [QUEUE_SIZE] = { .name = "queue_size",
                     .unit = "requests",
                     .doc = "what the limit may grow by, before smoothing, while all is "
                            "well",
                     .lo = 0.0,
                     .hi = 1e6,
                     .dflt = 4.0,
                     .kind = ADP_F64,
                     .flags = ADP_FIXED },
    [LONG_WINDOW] = { .name = "long_window",
                      .unit = "windows",
                      .doc = "length of the long-term mean",
                      .lo = 1.0,
                      .hi = 1e6,
                      .dflt = 600.0,
                      .kind = ADP_I64,
                      .flags = ADP_FIXED },
    [RTT_TOLERANCE] = { .name = "rtt_tolerance",
                        .unit = "ratio",
                        .doc = "rise over the long-term mean that is let pass",
                        .lo = 1.0,
                        .hi = 100.0,
                        .dflt = 1.5,
                        .kind = ADP_F64,
                        .flags = ADP_FIXED },
    [WINDOW_MS] = { .name = "window_ms",
                    .unit = "ms",
                    .doc = "shortest window that the limit learns from",
                    .lo = 100.0,
                    .hi = 3600000.0,
                    .dflt = 1000.0,
                    .kind = ADP_F64,
                    .flags = ADP_FIXED },
    [WINDOW_REQUESTS] = { .name = "window_requests",
                          .unit = "requests",
                          .doc = "fewest requests in such a window",
                          .lo = 1.0,
                          .hi = 1e6,
                          .dflt = 10.0,
                          .kind = ADP_I64,
                          .flags = ADP_FIXED },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "stability",
    .signal_quantity = "batch_state",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "in the spirit of Netflix concurrency-limits: limit/Gradient2Limit.java",
    .margin_unit = "requests",
};

struct window {
    uint64_t start_ns; /* of its first request; valid while n > 0 */
    uint64_t n, most;  /* requests; most in flight with one of them */
    double sum_ms;
};

struct learnt { /* what is saved */
    double limit;
    double long_ms, warm_sum_ms; /* long-term mean; sum while it warms up */
    uint64_t warm;               /* windows that it has warmed up by */
    struct window window;
    struct adp_turns turns;
    struct adp_life life;
};

struct gradient {
    struct learnt learnt;
    struct adp_flight flight;
    double lo, hi, queue; /* this instance's share */
    double param[N_PARAMS];
};

/* Of a number that the whole deployment keeps, what one of n instances may have. */
static double share(double whole, uint32_t n_instances)
{
    double part = (double)(uint64_t)(whole / (n_instances ? n_instances : 1));
    return part < 1.0 ? 1.0 : part;
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static void *create(const adp_setup *setup)
{
    const double *p = setup->param;
    if (p[MIN_LIMIT] > p[MAX_LIMIT])
        return adp_cannot(setup, "min_limit is above max_limit");
    struct gradient *g = calloc(1, sizeof *g);
    if (!g)
        return adp_cannot(setup, "out of memory");
    memcpy(g->param, p, sizeof g->param);
    g->lo = share(p[MIN_LIMIT], setup->n_instances);
    g->hi = share(p[MAX_LIMIT], setup->n_instances);
    g->queue = p[QUEUE_SIZE] / (setup->n_instances ? setup->n_instances : 1);
    if (adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &g->learnt,
                       sizeof g->learnt)) {
        g->flight.life = g->learnt.life;
        adp_life_restore(&g->flight.life);
    } else {
        g->learnt.limit = share(p[INITIAL_LIMIT], setup->n_instances);
    }
    g->learnt.limit = clamp(g->learnt.limit, g->lo, g->hi);
    return g;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct gradient *g = self;
    adp_margin(w, (double)g->flight.now - (double)(uint32_t)g->learnt.limit);
    if (w->margin < 0.0) {
        adp_admit(w);
        w->ticket = adp_flight_begin(&g->flight, v->now_ns);
    } else {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE,
                  adp_turns_next_ms(&g->learnt.turns, v->now_ns, v->draw));
    }
}

/* Gradient2Limit: one window whose requests took `short_ms`, with at most `most` in
 * flight. */
static void adapt(struct gradient *g, double short_ms, double most)
{
    struct learnt *l = &g->learnt;
    const double *p = g->param;
    if (l->warm < WARM_UP) {
        l->warm_sum_ms += short_ms;
        l->long_ms = l->warm_sum_ms / (double)++l->warm;
    } else {
        l->long_ms += (short_ms - l->long_ms) * 2.0 / (p[LONG_WINDOW] + 1.0);
    }
    double long_ms = l->long_ms;
    /* Back from a long overload: do not wait for the mean to notice. */
    if (long_ms / short_ms > 2.0)
        l->long_ms *= 0.95;
    if (most < l->limit / 2.0)
        return;
    double gradient = clamp(p[RTT_TOLERANCE] * long_ms / short_ms, 0.5, 1.0);
    double limit = l->limit * gradient + g->queue;
    limit = l->limit * (1.0 - p[SMOOTHING]) + limit * p[SMOOTHING];
    l->limit = clamp(limit, g->lo, g->hi);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct gradient *g = self;
    struct window *w = &g->learnt.window;
    double ms = 0.0;
    uint32_t with = adp_flight_end(&g->flight, o);
    if (!adp_outcome_ran(o))
        return;
    adp_turns_landed(&g->learnt.turns, o->now_ns);

    enum adp_first_token first = adp_outcome_first_token(o, &ms);
    if (first == ADP_FIRST_UNKNOWN || ms < SHORTEST_MS ||
        (first == ADP_FIRST_LATER && !(g->learnt.warm && ms > g->learnt.long_ms)))
        return;
    if (!w->n)
        w->start_ns = o->now_ns;
    w->n++;
    w->sum_ms += ms;
    w->most = with > w->most ? with : w->most;
    if ((double)w->n < g->param[WINDOW_REQUESTS] ||
        !adp_time_past(o->now_ns, w->start_ns, (uint64_t)(g->param[WINDOW_MS] * 1e6)))
        return;
    adapt(g, w->sum_ms / (double)w->n, (double)w->most);
    memset(w, 0, sizeof *w);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct gradient *g = self;
    struct learnt learnt = g->learnt;
    learnt.life = g->flight.life;
    return adp_saved_write(to, cap, LAYOUT, &learnt, sizeof learnt);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "gradient2_inspired",
    .version = "1.0",
    .doc =
        "limits what is in flight, by how much later first tokens come than they used to",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct learnt)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
