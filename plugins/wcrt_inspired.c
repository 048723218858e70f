/* SPDX-License-Identifier: MIT */
/* wcrt_inspired: rejects a request whose deadlines a bound on the worst-case response
 * time cannot promise.
 *
 * From Chronos: Marref, Tarmissi, Chaibi, "Formal schedulability analysis for LLM
 * inference: TTFT and TBT deadline guarantees via response-time theory", Frontiers in
 * Computer Science 8 (2026), doi 10.3389/fcomp.2026.1873627: Algorithm 1, Theorems 1 and
 * 3, parameters of a 7B model on one A100. With l prompt tokens, D ms to the first token:
 *
 *     C   = ceil(l / chunk_tokens) * (alpha * chunk_tokens + gamma)   ms of prefill
 *     rho = arrivals per second * mean C / 1000             share of the prefill
 *     (a) rho >= 1                                          overloaded, nothing is promised
 *     (b) safety * (rho * D / (1 - rho) + C) > D            the first token may be late
 *     (c) beta * (n + 1) + gamma > tbt_slo                  the next tokens may be late
 *
 * with n running requests. D is on both sides of (b): it can hold only while rho is below
 * one half, whatever D is.
 *
 * Inspired: the paper knows the arrival process and the decode tasks; here arrivals per
 * second are those of the busiest second of the window, and n is the engines' reading.
 * Arrivals are those that were admitted, with the one that asks: only they load the
 * engine, and were all that is offered counted, an offer above the capacity would make
 * this admit nothing at all. What is not known is not tested: without a prompt length
 * (b) is left out, without a deadline likewise, without a reading (c).
 *
 * Whoever finds no prefill before it waits for none: once all that was admitted has had
 * its C, one after the other, rho is 0. A long prompt would else be its own overload,
 * since the least that a second can show is one arrival in it: 10,752 tokens with the
 * paper's numbers, on an engine that does nothing, for ever. What cannot be promised even
 * then, (b) with rho 0, is too large; where it is the request's own deadline that it is
 * too long for, that deadline is infeasible: with another it could be served.
 *
 * State: admitted requests and their chunks, per second of the window; prefill that they
 * have still before them. The probe
 * (latch.h) is for a gauge that froze because nothing is admitted.
 * docs/policies/wcrt_inspired.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/seconds.h>
#include <admitperf/state.h>

#include <float.h>
#include <stdlib.h>

enum { RUNNING };
enum {
    CHUNK_TOKENS,
    ALPHA_MS,
    BETA_MS,
    GAMMA_MS,
    TTFT_SLO_MS,
    TBT_SLO_MS,
    WINDOW_S,
    SAFETY,
    PROBE_MS
};
enum { LAYOUT = 2, LONGEST_S = 600 };

/* A prefill that takes longer than any window is no arrival among others. */
#define LONGEST_MS (LONGEST_S * 1e3)

static const adp_signal signals[] = {
    [RUNNING] = { .name = "running", .unit = "requests" },
};

/* Those of a combination that create refuses change with a new instance alone. */
static const adp_param params[] = {
    [CHUNK_TOKENS] = { .name = "chunk_tokens",
                       .unit = "tokens",
                       .doc = "prefill chunk, the engine's token budget of one step",
                       .lo = 1.0,
                       .hi = 1e6,
                       .dflt = 512.0,
                       .kind = ADP_I64,
                       .flags = ADP_FIXED },
    [ALPHA_MS] = { .name = "alpha_ms",
                   .unit = "ms/token",
                   .doc = "prefill time per token",
                   .lo = 0.0,
                   .hi = 1e6,
                   .dflt = 0.080,
                   .kind = ADP_F64 },
    [BETA_MS] = { .name = "beta_ms",
                  .unit = "ms/request",
                  .doc = "decode time per running request and step",
                  .lo = 0.0,
                  .hi = 1e6,
                  .dflt = 0.250,
                  .kind = ADP_F64,
                  .flags = ADP_FIXED },
    [GAMMA_MS] = { .name = "gamma_ms",
                   .unit = "ms",
                   .doc = "time that any step takes",
                   .lo = 0.0,
                   .hi = 1e6,
                   .dflt = 7.0,
                   .kind = ADP_F64,
                   .flags = ADP_FIXED },
    [TTFT_SLO_MS] = { .name = "ttft_slo_ms",
                      .unit = "ms",
                      .doc = "deadline of requests that state none; 0, the default: none",
                      .lo = 0.0,
                      .hi = 86400000.0,
                      .dflt = 0.0,
                      .kind = ADP_F64 },
    [TBT_SLO_MS] = { .name = "tbt_slo_ms",
                     .unit = "ms",
                     .doc = "longest step that decoding may take; 0: not tested",
                     .lo = 0.0,
                     .hi = 86400000.0,
                     .dflt = 200.0,
                     .kind = ADP_F64,
                     .flags = ADP_FIXED },
    [WINDOW_S] = { .name = "window_s",
                   .unit = "s",
                   .doc = "how long an arrival counts",
                   .lo = 1.0,
                   .hi = LONGEST_S,
                   .dflt = 60.0,
                   .kind = ADP_I64,
                   .flags = ADP_FIXED },
    [SAFETY] = { .name = "safety",
                 .unit = "",
                 .doc = "factor on the bound of the first token; above 1: more cautious",
                 .lo = 0.01,
                 .hi = 100.0,
                 .dflt = 1.0,
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
    .slo_awareness = "deadline",
    .signal_quantity = "analytic",
    .signal_structure = "formal-bound",
    .metadata_assumed = "deadlines",
    .portability = "A",
    .source = "in the spirit of Chronos, Algorithm 1, doi 10.3389/fcomp.2026.1873627",
    .margin_unit = "ms",
};

struct count {
    uint32_t requests; /* admitted */
    uint32_t known;    /* of them, with a prompt length */
    uint64_t chunks;   /* of the known */
};

struct learnt { /* what is saved */
    struct adp_seconds seconds;
    struct adp_probe probe;
    uint64_t known, chunks; /* sums over the window */
    uint64_t peak;          /* most requests in a second before the one that runs */
    uint64_t window_s, chunk_tokens;
    struct adp_stopwatch drained;
    double ahead_ms; /* prefill of the admitted, as of the stopwatch's last lap */
    struct count of[LONGEST_S]; /* the first window_s */
};

struct wcrt {
    struct learnt learnt;
    double n_instances;
};

/* What there is to know of the request that asks. */
struct asked {
    uint64_t chunks; /* 0: length not known */
    double deadline_ms;
    bool has_deadline;
    bool own_deadline; /* the request's, not the deployment's */
};

/* One bound against what it may be. */
struct bound {
    double over_ms;
    bool broken;
};

static void *create(const adp_setup *setup)
{
    const double *p = setup->param;
    uint64_t window_s = (uint64_t)p[WINDOW_S], chunk = (uint64_t)p[CHUNK_TOKENS];
    if (p[TBT_SLO_MS] > 0.0 && p[BETA_MS] + p[GAMMA_MS] > p[TBT_SLO_MS])
        return adp_cannot(setup,
                          "tbt_slo_ms is below beta_ms + gamma_ms: no request could run");
    struct wcrt *c = calloc(1, sizeof *c);
    if (!c)
        return adp_cannot(setup, "out of memory");
    struct learnt *l = &c->learnt;
    c->n_instances = setup->n_instances ? setup->n_instances : 1;
    if (!adp_saved_read(setup->saved, setup->saved_len, LAYOUT, l, sizeof *l) ||
        l->window_s != window_s || l->chunk_tokens != chunk) {
        memset(l, 0, sizeof *l);
        l->window_s = window_s;
        l->chunk_tokens = chunk;
    }
    return c;
}

/* Rolls on to the second that runs; the peak of those before it changes only then. */
static void roll(struct learnt *l, uint64_t now_ns)
{
    uint32_t n = (uint32_t)l->window_s, gone = adp_seconds_roll(&l->seconds, now_ns, n);
    if (!gone)
        return;
    for (; gone; gone--) {
        struct count *c = &l->of[adp_seconds_slot(&l->seconds, gone - 1, n)];
        l->known -= c->known;
        l->chunks -= c->chunks;
        *c = (struct count) { 0 };
    }
    l->peak = 0;
    for (uint32_t i = 0; i < n; i++)
        l->peak = l->of[i].requests > l->peak ? l->of[i].requests : l->peak;
}

/* Milliseconds of prefill before the one that asks, of whatever process. */
static double ahead_ms(struct learnt *l, uint64_t now_ns)
{
    double ms = (double)adp_stopwatch_lap(&l->drained, now_ns) * 1e-6;
    l->ahead_ms = l->ahead_ms > ms ? l->ahead_ms - ms : 0.0;
    return l->ahead_ms;
}

static struct count *running_second(struct learnt *l)
{
    return &l->of[adp_seconds_slot(&l->seconds, 0, (uint32_t)l->window_s)];
}

static struct asked look(const struct learnt *l, const adp_view *v)
{
    const adp_request *r = v->request;
    struct asked a = { .deadline_ms = v->param[TTFT_SLO_MS] };
    if (r->present & ADP_PROMPT) {
        a.chunks = r->prompt_tokens / l->chunk_tokens;
        a.chunks += r->prompt_tokens % l->chunk_tokens > 0 || !a.chunks;
    }
    if (r->present & ADP_DEADLINE)
        a.deadline_ms = r->ttft_deadline_ms > 0.0 ? r->ttft_deadline_ms : 0.0;
    a.own_deadline = r->present & ADP_DEADLINE;
    a.has_deadline = a.own_deadline || a.deadline_ms > 0.0;
    return a;
}

/* Chunks of a request in the window, on average, with the one that asks; negative: not
 * known, no prompt length was ever given. */
static double mean_chunks(const struct learnt *l, const struct asked *a)
{
    uint64_t known = l->known + (a->chunks > 0);
    return known ? ((double)l->chunks + (double)a->chunks) / (double)known : -1.0;
}

/* Requests per second in the busiest of the window, with the one that asks. */
static double busiest_per_s(struct wcrt *c)
{
    struct learnt *l = &c->learnt;
    uint64_t now = running_second(l)->requests + 1u;
    return (double)(now > l->peak ? now : l->peak) * c->n_instances;
}

/* (a): milliseconds of prefill that come in a second, above the thousand there are. */
static struct bound overload(double rho)
{
    return (struct bound) { .over_ms = (rho - 1.0) * 1e3, .broken = rho >= 1.0 };
}

/* What no wait explains: (b) with rho 0, and a prefill that is longer than any window. */
static struct bound alone(const struct asked *a, double own_ms, double safety)
{
    double most_ms = LONGEST_MS;
    if (a->has_deadline && a->deadline_ms < most_ms)
        most_ms = a->deadline_ms;
    double over_ms = safety * own_ms - most_ms;
    return (struct bound) { .over_ms = over_ms, .broken = over_ms > 0.0 };
}

/* Why what no wait explains is refused. Too large is what no deadline of the request's own
 * would make possible. */
static uint32_t reason_alone(const struct asked *a, double own_ms, double safety)
{
    return a->own_deadline && safety * own_ms <= LONGEST_MS ? ADP_R_DEADLINE_INFEASIBLE
                                                            : ADP_R_REQUEST_TOO_LARGE;
}

/* (b): the first token's bound, above the deadline. */
static struct bound first_token(const struct asked *a, double rho, double own_ms,
                                double safety)
{
    double d = a->deadline_ms;
    double over_ms = safety * (rho * d / (1.0 - rho) + own_ms) - d;
    return (struct bound) { .over_ms = over_ms, .broken = over_ms > 0.0 };
}

/* (c): a step with one more running request, above the longest it may take. */
static struct bound next_tokens(double running, const double *p)
{
    double over_ms = p[BETA_MS] * (running + 1.0) + p[GAMMA_MS] - p[TBT_SLO_MS];
    return (struct bound) { .over_ms = over_ms, .broken = over_ms > 0.0 };
}

/* The margin is of the bound that is most over, or nearest to it. One that is met
 * exactly holds: then it says a hair less. */
static void margin(adp_verdict *w, const struct bound *b)
{
    double over_ms = b->over_ms < DBL_MAX ? b->over_ms : DBL_MAX; /* it must be finite */
    if (w->set & ADP_SET_MARGIN && w->margin >= over_ms)
        return;
    if (b->broken)
        adp_margin(w, over_ms);
    else
        adp_margin_above(w, over_ms);
}

static void admit(struct wcrt *c, const struct asked *a, double chunk_ms, adp_verdict *w)
{
    struct learnt *l = &c->learnt;
    struct count *now = running_second(l);
    double chunks = a->chunks ? (double)a->chunks : mean_chunks(l, a);
    adp_admit(w);
    if (chunks > 0.0)
        l->ahead_ms += chunks * chunk_ms * c->n_instances;
    now->requests += now->requests < UINT32_MAX;
    if (a->chunks) {
        now->known++;
        now->chunks += a->chunks;
        l->known++;
        l->chunks += a->chunks;
    }
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct wcrt *c = self;
    struct learnt *l = &c->learnt;
    const double *p = v->param;
    roll(l, v->now_ns);
    struct asked a = look(l, v);
    double chunk_ms = p[ALPHA_MS] * (double)l->chunk_tokens + p[GAMMA_MS];
    double own_ms = (double)a.chunks * chunk_ms, mean = mean_chunks(l, &a);
    bool idle = ahead_ms(l, v->now_ns) <= 0.0;
    double rho = idle ? 0.0 : busiest_per_s(c) * mean * chunk_ms * 1e-3;
    struct bound overloaded = { 0 }, late = { 0 }, slow = { 0 }, large = { 0 };

    if (a.chunks) {
        large = alone(&a, own_ms, p[SAFETY]);
        margin(w, &large);
    }
    if (mean >= 0.0) {
        overloaded = overload(rho);
        margin(w, &overloaded);
    }
    if (a.chunks && a.has_deadline && !overloaded.broken) {
        late = first_token(&a, rho, own_ms, p[SAFETY]);
        margin(w, &late);
    }
    if (p[TBT_SLO_MS] > 0.0 && adp_has(v, RUNNING)) {
        slow = next_tokens(v->signal[RUNNING], p);
        margin(w, &slow);
    }

    if (large.broken) {
        adp_reject(w, reason_alone(&a, own_ms, p[SAFETY]), ADP_NONE);
    } else if (overloaded.broken) {
        adp_reject(w, ADP_R_WAIT_ESTIMATE_EXCEEDED, ADP_NONE);
    } else if (late.broken) {
        adp_reject(w, ADP_R_DEADLINE_INFEASIBLE, ADP_NONE);
    } else if (!slow.broken) {
        adp_probe_open(&l->probe);
        admit(c, &a, chunk_ms, w);
    } else if (adp_probe_due(&l->probe, v->signal[RUNNING], v->now_ns,
                             (uint64_t)(p[PROBE_MS] * 1e6))) {
        w->set &= ~(uint32_t)ADP_SET_MARGIN; /* the gate holds, and it passes */
        admit(c, &a, chunk_ms, w);
    } else {
        adp_reject(w, ADP_R_DEADLINE_INFEASIBLE, RUNNING);
    }
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct wcrt *c = self;
    return adp_saved_write(to, cap, LAYOUT, &c->learnt, sizeof c->learnt);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .n_params = ADP_COUNT(params),
    .signals = signals,
    .params = params,
    .name = "wcrt_inspired",
    .version = "1.0",
    .doc = "rejects a request whose deadlines a worst-case bound cannot promise",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct learnt)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .save = save,
};
