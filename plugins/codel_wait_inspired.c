/* SPDX-License-Identifier: MIT */
/* codel_wait_inspired: once requests have waited `target_ms` or longer for a whole
 * interval, defers one now and the next ones at intervals that shrink with the square
 * root of their number, until the wait is below the target.
 *
 * From RFC 8289 (CoDel), sections 5.3, 5.5, 5.6: the states, the control law, the return
 * to a recent count. It tells a queue that stands from one that a burst made and that
 * drains by itself.
 *
 *                     wait < target, or one request waiting at most
 *           ┌───────────────────────────────────────────────────────┐
 *           ▼     wait >= target                for an interval     │
 *         BELOW ────────────────► ABOVE ──────────────────► DEFERRING
 *           ▲                       │       defers one, count = 1
 *           └───────────────────────┘       (or where it was before, if that ended less
 *                                           than 16 intervals ago); then the next one
 *                                           interval / sqrt(count) after it, count + 1
 *
 * Inspired: CoDel measures how long each packet was in its own queue. A gateway sees no
 * such queue: the wait is an estimate, requests waiting in the engines over the rate at
 * which requests finish; and what is refused is the one that arrives, not the one at the
 * head. Nothing finished for as long as the rate is measured over: one is taken to finish
 * in that time. Before that much time has passed nothing is known, and all is admitted.
 *
 * Of n instances in front of one queue each spaces its refusals by interval / sqrt(count
 * / n): together they refuse as one would. The probe (latch.h) is for a gauge that froze
 * because nothing is admitted.
 *
 * Every request is ticketed, refused ones too: one that runs all the same drains the
 * queue like any. docs/policies/codel_wait_inspired.md. */
#include <admitperf/flight.h>
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { WAITING };
enum { TARGET_MS, INTERVAL_MS, PROBE_MS };
enum { LAYOUT = 1, RECENT = 16 /* intervals */ };
#define DRAIN_NS     UINT64_C(10000000000) /* over which the drain is measured */
#define RFC_RATIO    20.0    /* interval / target: 100 ms / 5 ms (section 5.3) */
#define LONGEST_MS   30000.0 /* retry time */
#define RETRY_SPREAD 0.25

static const adp_signal signals[] = {
    [WAITING] = { .name = "queue_depth", .unit = "requests" },
};

static const adp_param params[] = {
    [TARGET_MS] = { .name = "target_ms",
                    .unit = "ms",
                    .doc = "a wait that may stand; a tenth of the TTFT SLO, say",
                    .lo = 0.001,
                    .hi = 3600000.0,
                    .kind = ADP_F64,
                    .flags = ADP_REQUIRED },
    [INTERVAL_MS] = { .name = "interval_ms",
                      .unit = "ms",
                      .doc = "how long it may stand higher; 0, the default: 20 target_ms",
                      .lo = 0.0,
                      .hi = 3600000.0,
                      .dflt = 0.0,
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
    .signal_quantity = "wait_estimate",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "in the spirit of RFC 8289 (CoDel), sections 5.3, 5.5, 5.6",
    .margin_unit = "ms",
};

struct codel {
    struct adp_rate drain;
    struct adp_probe probe;
    uint64_t above;    /* 0 or 1: the wait is at or above the target */
    uint64_t above_ns; /* since when; valid while above */
    uint64_t deferring;
    uint64_t count; /* refusals of this spell; of the last one while not deferring */
    uint64_t count_at_entry;
    uint64_t from_ns, step_ns; /* the next refusal is due step after from */
    uint64_t n_instances;
};

static void *create(const adp_setup *setup)
{
    struct codel *c = calloc(1, sizeof *c);
    if (!c)
        return adp_cannot(setup, "out of memory");
    adp_saved_read(setup->saved, setup->saved_len, LAYOUT, c, sizeof *c);
    c->n_instances = setup->n_instances ? setup->n_instances : 1;
    return c;
}

/* Milliseconds that who joins the queue waits; negative: not known. */
static double wait_ms(struct codel *c, const adp_view *v, double *ret_per_s)
{
    double here = adp_rate_per_s(&c->drain, v->now_ns, DRAIN_NS);
    *ret_per_s = here * (double)c->n_instances;
    if (!adp_has(v, WAITING) || c->drain.windows < 2)
        return -1.0;
    if (v->signal[WAITING] <= 1.0) /* RFC: no more than one packet is no standing queue */
        return 0.0;
    double slowest = 1e9 / (double)DRAIN_NS;
    double ms = v->signal[WAITING] * 1e3 / (*ret_per_s > slowest ? *ret_per_s : slowest);
    return ms < DBL_MAX ? ms : DBL_MAX; /* a margin must be finite */
}

/* The control law: nanoseconds from the refusal before to the next. */
static uint64_t step_ns(const struct codel *c, double interval_ns)
{
    return (uint64_t)(interval_ns * sqrt((double)c->n_instances / (double)c->count));
}

/* The wait has been at or above the target for an interval: is one to be refused now?
 * Negative: not yet; else nanoseconds since it was due. */
static double refusal_due(struct codel *c, uint64_t now_ns, double interval_ns)
{
    if (!c->deferring) {
        /* As drop_next of the RFC, and so is 16 intervals after that. */
        bool recent =
            c->count && !adp_time_past(now_ns, c->from_ns,
                                       (uint64_t)(RECENT * interval_ns) + c->step_ns);
        uint64_t delta = c->count - c->count_at_entry;
        c->deferring = 1;
        c->count = recent && delta > 1 ? delta : 1;
        c->count_at_entry = c->count;
        c->from_ns = now_ns;
        c->step_ns = step_ns(c, interval_ns);
        return 0.0;
    }
    if (!adp_time_past(now_ns, c->from_ns, c->step_ns))
        return (double)now_ns - (double)(c->from_ns + c->step_ns);
    uint64_t due_ns = c->from_ns + c->step_ns;
    c->count++;
    /* Requests may be rarer than refusals: no arrears of more than an interval. */
    c->from_ns = adp_time_past(now_ns, due_ns, (uint64_t)interval_ns) ? now_ns : due_ns;
    c->step_ns = step_ns(c, interval_ns);
    return now_ns > due_ns ? (double)(now_ns - due_ns) : 0.0;
}

static void below(struct codel *c)
{
    c->above = c->deferring = 0;
    adp_probe_open(&c->probe);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static void refuse(struct codel *c, const adp_view *v, adp_verdict *w, double excess_ms,
                   double per_s)
{
    if (adp_probe_due(&c->probe, v->signal[WAITING], v->now_ns,
                      (uint64_t)(v->param[PROBE_MS] * 1e6))) {
        adp_admit(w);
        w->set &= ~(uint32_t)ADP_SET_MARGIN; /* the gate holds, and it passes */
        return;
    }
    double ms = per_s > 0.0 ? smaller(excess_ms, LONGEST_MS) : 0.0;
    adp_defer(w, ADP_R_WAIT_ESTIMATE_EXCEEDED, WAITING,
              adp_jitter_ms(ms, RETRY_SPREAD, v->draw));
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct codel *c = self;
    double per_s, target_ms = v->param[TARGET_MS], interval_ms = v->param[INTERVAL_MS];
    double wait = wait_ms(c, v, &per_s);
    w->ticket = 1;
    adp_admit(w);
    if (wait < target_ms) {
        below(c);
        if (wait >= 0.0)
            adp_margin(w, wait - target_ms);
        return;
    }
    if (!c->above) {
        c->above = 1;
        c->above_ns = v->now_ns;
    }
    double interval_ns = (interval_ms > 0.0 ? interval_ms : RFC_RATIO * target_ms) * 1e6;
    double stood_ns = v->now_ns > c->above_ns ? (double)(v->now_ns - c->above_ns) : 0.0;
    double due_ns = stood_ns - interval_ns;
    if (adp_time_past(v->now_ns, c->above_ns, (uint64_t)interval_ns))
        due_ns = refusal_due(c, v->now_ns, interval_ns);
    adp_margin(w, smaller(wait - target_ms, due_ns * 1e-6));
    if (due_ns >= 0.0)
        refuse(c, v, w, wait - target_ms, per_s);
    else
        adp_probe_admitted(&c->probe, v->now_ns);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct codel *c = self;
    if (adp_outcome_ran(o))
        adp_rate_add(&c->drain, 1.0, o->now_ns, DRAIN_NS);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    return adp_saved_write(to, cap, LAYOUT, self, sizeof(struct codel));
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .n_params = ADP_COUNT(params),
    .signals = signals,
    .params = params,
    .name = "codel_wait_inspired",
    .version = "1.0",
    .doc = "defers at a growing pace while requests keep waiting longer than a target",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct codel)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
