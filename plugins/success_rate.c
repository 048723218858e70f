/* SPDX-License-Identifier: MIT */
/* success_rate: refuses a share of the requests that grows as fewer of the recent ones
 * succeed.
 *
 * From Envoy's HTTP filter admission_control (extensions.filters.http.admission_control
 * .v3, admission_control.proto and admission_control.cc): the formula, its defaults, and
 * what a success is. The idea is client-side throttling, Site Reliability Engineering,
 * chapter 21. With n requests in the window, s of them successful:
 *
 *     p = min(max_rejection_probability,
 *             max(0, (n - s / sr_threshold) / (n + 1)) ^ (1 / aggression))
 *
 * and a request is refused when its draw is below p; p is 0 while fewer than
 * `rps_threshold` requests a second were seen, a mean over the whole window, never over
 * the time since the oldest of them (Envoy #33739, #34257). The threshold is the whole
 * deployment's: of n instances each takes its own rate n times. Envoy's is each process's.
 *
 * A success has a status below 500; without one, it ran to its end. One that failed after
 * a 200 had begun is a failure. A client that left before anything came gave up waiting,
 * which is a failure as well: Envoy counts those as nothing (#44412). What was refused
 * here counts as neither.
 *
 * State: requests and successes of each second of the window. Every request is ticketed,
 * refused ones too: a refusal that is not enforced runs all the same, and its outcome
 * says as much as any. docs/policies/success_rate.md. */
#include <admitperf/flight.h>
#include <admitperf/policy.h>
#include <admitperf/seconds.h>
#include <admitperf/state.h>

#include <math.h>
#include <stdlib.h>

enum {
    SAMPLING_WINDOW_S,
    SR_THRESHOLD,
    AGGRESSION,
    RPS_THRESHOLD,
    MAX_REJECTION_PROBABILITY
};
enum { LAYOUT = 1, LONGEST_S = 600 };

static const adp_param params[] = {
    [SAMPLING_WINDOW_S] = { .name = "sampling_window_s",
                            .unit = "s",
                            .doc = "how long an outcome counts",
                            .lo = 1.0,
                            .hi = LONGEST_S,
                            .dflt = 30.0,
                            .kind = ADP_I64,
                            .flags = ADP_FIXED },
    [SR_THRESHOLD] = { .name = "sr_threshold",
                       .unit = "ratio",
                       .doc = "refuses nothing while this share or more succeeds",
                       .lo = 0.01,
                       .hi = 1.0,
                       .dflt = 0.95,
                       .kind = ADP_F64 },
    [AGGRESSION] = { .name = "aggression",
                     .unit = "",
                     .doc = "1: the refused share grows linearly; above: faster at first",
                     .lo = 1.0,
                     .hi = 100.0,
                     .dflt = 1.0,
                     .kind = ADP_F64 },
    [RPS_THRESHOLD] = { .name = "rps_threshold",
                        .unit = "requests/s",
                        .doc = "refuses nothing while fewer requests than this come back",
                        .lo = 0.0,
                        .hi = 1e9,
                        .dflt = 0.0,
                        .kind = ADP_F64 },
    [MAX_REJECTION_PROBABILITY] = { .name = "max_rejection_probability",
                                    .unit = "ratio",
                                    .doc = "never refuses a larger share than this",
                                    .lo = 0.0,
                                    .hi = 1.0,
                                    .dflt = 0.8,
                                    .kind = ADP_F64 },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "stability",
    .signal_quantity = "rate",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "Envoy: extensions.filters.http.admission_control.v3; SRE book, chapter 21",
    .margin_unit = "ratio",
};

struct count {
    uint32_t requests, successes;
};

struct learnt { /* what is saved */
    struct adp_seconds seconds;
    struct count sum;
    uint64_t window_s;
    struct count of[LONGEST_S]; /* the first window_s */
};

struct success_rate {
    struct learnt learnt;
    double n_instances;
};

static void *create(const adp_setup *setup)
{
    struct success_rate *r = calloc(1, sizeof *r);
    if (!r)
        return adp_cannot(setup, "out of memory");
    uint64_t window_s = (uint64_t)setup->param[SAMPLING_WINDOW_S];
    r->n_instances = setup->n_instances ? setup->n_instances : 1;
    if (!adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &r->learnt,
                        sizeof r->learnt) ||
        r->learnt.window_s != window_s) {
        memset(&r->learnt, 0, sizeof r->learnt);
        r->learnt.window_s = window_s;
    }
    return r;
}

static void roll(struct learnt *l, uint64_t now_ns)
{
    uint32_t n = (uint32_t)l->window_s;
    for (uint32_t gone = adp_seconds_roll(&l->seconds, now_ns, n); gone; gone--) {
        struct count *c = &l->of[adp_seconds_slot(&l->seconds, gone - 1, n)];
        l->sum.requests -= c->requests;
        l->sum.successes -= c->successes;
        *c = (struct count) { 0 };
    }
}

/* (n - s / sr_threshold) / (n + 1): above 0 just when fewer than sr_threshold succeed. */
static double shortfall(const struct success_rate *r, const double *param)
{
    double n = r->learnt.sum.requests, s = r->learnt.sum.successes;
    return (n - s / param[SR_THRESHOLD]) / (n + 1.0);
}

static double rejection_probability(double short_of, const double *param)
{
    if (!(short_of > 0.0))
        return 0.0;
    double p =
        param[AGGRESSION] > 1.0 ? pow(short_of, 1.0 / param[AGGRESSION]) : short_of;
    return p < param[MAX_REJECTION_PROBABILITY] ? p : param[MAX_REJECTION_PROBABILITY];
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct success_rate *r = self;
    const struct learnt *l = &r->learnt;
    roll(&r->learnt, v->now_ns);
    double n = l->sum.requests, p = 0.0;
    double per_s = n * r->n_instances / (double)l->window_s;
    if (n > 0.0 && per_s >= v->param[RPS_THRESHOLD]) {
        p = rejection_probability(shortfall(r, v->param), v->param);
        /* How near: while nothing can be refused, of the share; then of the draw. */
        double share_off = v->param[SR_THRESHOLD] - l->sum.successes / n;
        adp_margin_above(w, p > 0.0 ? p - v->draw : share_off < 0.0 ? share_off : 0.0);
    }
    w->p = p;
    w->set |= ADP_SET_P;
    w->ticket = 1;
    if (v->draw < p)
        adp_reject(w, ADP_R_CAPACITY_RESERVED, ADP_NONE);
    else
        adp_admit(w);
}

static bool succeeded(const adp_outcome *o)
{
    uint32_t status = adp_outcome_status(o);
    if (o->kind == ADP_CANCELLED) /* 499 is how some gateways say that the client left */
        return o->present & ADP_O_TTFT || (status >= 200 && status < 400);
    if (o->kind == ADP_FAILED)
        return status >= 400 && status < 500; /* it failed for the client's own reasons */
    return status < 500;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct success_rate *r = self;
    struct learnt *l = &r->learnt;
    if (!adp_outcome_ran(o))
        return;
    roll(l, o->now_ns);
    struct count *now = &l->of[adp_seconds_slot(&l->seconds, 0, (uint32_t)l->window_s)];
    if (l->sum.requests == UINT32_MAX)
        return; /* seven million a second: the share is known well enough */
    bool success = succeeded(o);
    now->requests++;
    now->successes += success;
    l->sum.requests++;
    l->sum.successes += success;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct success_rate *r = self;
    return adp_saved_write(to, cap, LAYOUT, &r->learnt, sizeof r->learnt);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "success_rate",
    .version = "1.0",
    .doc = "refuses a growing share of requests as fewer of the recent ones succeed",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct learnt)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
