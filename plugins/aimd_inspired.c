/* SPDX-License-Identifier: MIT */
/* aimd_inspired: admits while fewer than `limit` requests are in flight. The limit grows
 * by one with each request that goes well while at least half of it is used, and is
 * multiplied by `backoff_ratio` when one does not.
 *
 * From Netflix concurrency-limits, limit/AIMDLimit.java and limiter/AbstractLimiter.java
 * (at 78a74b9, January 2026): the formula, its integer arithmetic and its defaults.
 *
 *     went badly:   limit <- clamp(floor(limit * backoff_ratio))
 *     went well:    limit <- clamp(limit + 1), if 2 * in flight when it began >= limit
 *
 * Inspired: there a request goes badly when it is dropped or takes longer than 5 s in
 * all. How long a generation takes is what the client asked for, so here the time to the
 * first token is held against `timeout_ms`. A request that ended without one waited at
 * least as long as it took. Who left before the first token, and sooner than that, says
 * nothing; nor does a request that was itself at fault (status 400 to 499 but 408, 429).
 *
 * State: the limit, what is in flight (not saved: flight.h), the rate of landings. The
 * limits are the deployment's: each of n instances keeps to a share of them, of at least
 * one. docs/policies/aimd_inspired.md. */
#include <admitperf/flight.h>
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum { INITIAL_LIMIT, MIN_LIMIT, MAX_LIMIT, BACKOFF_RATIO, TIMEOUT_MS };
enum { LAYOUT = 2 };

static const adp_param params[] = {
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
    [BACKOFF_RATIO] = { .name = "backoff_ratio",
                        .unit = "ratio",
                        .doc =
                            "what the limit is multiplied by when a request goes badly",
                        .lo = 0.5,
                        .hi = 0.999,
                        .dflt = 0.9,
                        .kind = ADP_F64,
                        .flags = ADP_FIXED },
    [TIMEOUT_MS] = { .name = "timeout_ms",
                     .unit = "ms",
                     .doc = "a first token later than this has gone badly",
                     .lo = 1.0,
                     .hi = 3600000.0,
                     .dflt = 5000.0,
                     .kind = ADP_F64,
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
    .source = "in the spirit of Netflix concurrency-limits: limit/AIMDLimit.java",
    .margin_unit = "requests",
};

struct learnt { /* what is saved */
    double limit;
    struct adp_turns turns;
    struct adp_life life;
};

struct aimd {
    struct learnt learnt;
    struct adp_flight flight;
    double lo, hi; /* this instance's share */
    double backoff, timeout_ms;
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
    struct aimd *a = calloc(1, sizeof *a);
    if (!a)
        return adp_cannot(setup, "out of memory");
    a->lo = share(p[MIN_LIMIT], setup->n_instances);
    a->hi = share(p[MAX_LIMIT], setup->n_instances);
    a->backoff = p[BACKOFF_RATIO];
    a->timeout_ms = p[TIMEOUT_MS];
    if (adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &a->learnt,
                       sizeof a->learnt)) {
        a->flight.life = a->learnt.life;
        adp_life_restore(&a->flight.life);
    } else {
        a->learnt.limit = share(p[INITIAL_LIMIT], setup->n_instances);
    }
    a->learnt.limit = clamp(a->learnt.limit, a->lo, a->hi);
    return a;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct aimd *a = self;
    adp_margin(w, (double)a->flight.now - a->learnt.limit);
    if (w->margin < 0.0) {
        adp_admit(w);
        w->ticket = adp_flight_begin(&a->flight, v->now_ns);
    } else {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE,
                  adp_turns_next_ms(&a->learnt.turns, v->now_ns, v->draw));
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct aimd *a = self;
    double limit = a->learnt.limit, first_ms = 0.0;
    uint32_t with = adp_flight_end(&a->flight, o);
    if (!adp_outcome_ran(o))
        return;
    adp_turns_landed(&a->learnt.turns, o->now_ns);
    if (adp_outcome_at_fault(o))
        return;

    enum adp_first_token first = adp_outcome_first_token(o, &first_ms);
    bool late = first != ADP_FIRST_UNKNOWN && first_ms > a->timeout_ms;
    if (late || adp_outcome_failed(o))
        limit = (double)(uint64_t)(limit * a->backoff);
    else if ((o->kind == ADP_DONE || first == ADP_FIRST_CAME) && with * 2.0 >= limit)
        limit += 1.0;
    a->learnt.limit = clamp(limit, a->lo, a->hi);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct aimd *a = self;
    struct learnt learnt = a->learnt;
    learnt.life = a->flight.life;
    return adp_saved_write(to, cap, LAYOUT, &learnt, sizeof learnt);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "aimd_inspired",
    .version = "1.0",
    .doc =
        "limits what is in flight; more while first tokens come in time, less when not",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct learnt)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
