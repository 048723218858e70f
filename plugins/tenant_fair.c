/* SPDX-License-Identifier: MIT */
/* tenant_fair: while the pool is saturated, defers a tenant that has had more than
 * `max_lead` tokens of service above the least served of those who ask now.
 *
 * The Virtual Token Counter as an admission test (Sheng et al., Fairness in Serving Large
 * Language Models, OSDI 2024, arXiv 2401.00588, section 4; code in
 * Ying1123/VTC-artifact, slora/server/router/vtc_req_queue.py). Each tenant has a counter
 * of weighted tokens,
 *
 *     c += input_weight · input + output_weight · output
 *
 * and one who comes back after idling is lifted to the least of the others who are
 * active (or, when none is, to the one that asked last), so that nobody saves up credit by
 * not asking. VTC serves the least counter first; at an ingress, where there is no queue
 * to choose from, a request is deferred iff
 *
 *     saturation >= 1   and   c - least active c > max_lead
 *
 * Active is, there, who has a request in the queue; here, who has one in flight or was
 * deferred in the last `idle_s`. Never is one deferred while the pool has room, never the
 * least served, never a tenant that is alone: no capacity is left idle for fairness' sake. The paper bounds the difference between two
 * backlogged clients by 2 · max(input_weight · longest input, output_weight · tokens of a
 * batch): a max_lead below that defers what VTC would serve.
 *
 * Outputs are charged when admitted, as the artifact's vtc_pred_len_req_queue.py predicts
 * them (a running mean of the tenant's own, window 5), and put right at the outcome; VTC
 * itself charges them token by token. `half_life_s` lets service be forgotten, as llm-d's
 * program-aware strategy does (fairness/program-aware/strategy_las.go, 60 s there); 0, the
 * default, is VTC.
 *
 * No probe: the least served is never deferred, and one who is deferred alone becomes it
 * when the others go idle.
 *
 * State: a counter for each of `tenants`, the longest idle makes room; the charges of at
 * most 4,096 requests in flight; how fast service is given. docs/policies/tenant_fair.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/pool.h>
#include <admitperf/state.h>

#include <math.h>
#include <stdlib.h>

enum { QUEUE, KV };
enum {
    MAX_LEAD,
    INPUT_WEIGHT,
    OUTPUT_WEIGHT,
    HALF_LIFE_S,
    IDLE_S,
    TENANTS,
    PROMPT_GUESS,
    QUEUE_DEPTH_THRESHOLD,
    KV_THRESHOLD,
    ABSENT_SATURATED,
    ENGINES
};
enum { LAYOUT = 7, LAYOUT_TENANTS, LAYOUT_CHARGED };
enum { MAX_TENANTS = 1024, IN_FLIGHT = 4096 };
static const double PREDICTION_WINDOW = 5.0; /* vtc_pred_len_req_queue.py */
static const uint64_t RATE_WINDOW_NS = 10u * UINT64_C(1000000000);
static const double RETRY_CAP_MS = 30000.0; /* llm-d #2487 */
static const double RETRY_SPREAD = 0.5;

static const adp_signal signals[] = {
    [QUEUE] = { .name = "queue_depth", .unit = "requests", .flags = ADP_REPLICAS },
    [KV] = { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
};

static const adp_param params[] = {
    [MAX_LEAD] = { .name = "max_lead",
                   .unit = "tokens",
                   .doc = "weighted tokens of service above the least served tenant",
                   .lo = 1.0,
                   .hi = 1e12,
                   .dflt = 1.0,
                   .kind = ADP_F64,
                   .flags = ADP_REQUIRED },
    [INPUT_WEIGHT] = { .name = "input_weight",
                       .unit = "",
                       .doc = "what a prompt token costs",
                       .lo = 0.0,
                       .hi = 1e6,
                       .dflt = 1.0,
                       .kind = ADP_F64,
                       .flags = ADP_FIXED },
    [OUTPUT_WEIGHT] = { .name = "output_weight",
                        .unit = "",
                        .doc = "what an output token costs",
                        .lo = 0.0,
                        .hi = 1e6,
                        .dflt = 2.0,
                        .kind = ADP_F64,
                        .flags = ADP_FIXED },
    [HALF_LIFE_S] = { .name = "half_life_s",
                      .unit = "s",
                      .doc =
                          "service counts half after this time; 0: it is not forgotten",
                      .lo = 0.0,
                      .hi = 1e9,
                      .dflt = 0.0,
                      .kind = ADP_F64,
                      .flags = ADP_FIXED },
    [IDLE_S] = { .name = "idle_s",
                 .unit = "s",
                 .doc = "how long a deferred tenant counts as waiting",
                 .lo = 0.001,
                 .hi = 86400.0,
                 .dflt = 60.0,
                 .kind = ADP_F64 },
    [TENANTS] = { .name = "tenants",
                  .unit = "",
                  .doc = "counters kept at most; the longest idle makes room",
                  .lo = 2.0,
                  .hi = MAX_TENANTS,
                  .dflt = 256.0,
                  .kind = ADP_I64,
                  .flags = ADP_FIXED },
    [PROMPT_GUESS] = { .name = "prompt_guess",
                       .unit = "tokens",
                       .doc = "length of a prompt whose length the host does not state",
                       .lo = 0.0,
                       .hi = 1e9,
                       .dflt = 512.0,
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
};

static const adp_card card = {
    .unit = "tenant",
    .setting = "online",
    .slo_awareness = "fairness",
    .signal_quantity = "rate",
    .signal_structure = "dual-gate",
    .metadata_assumed = "none",
    .portability = "A",
    .source = "VTC, OSDI 2024, arXiv 2401.00588, section 4, as an admission "
              "test; Ying1123/VTC-artifact: vtc_req_queue.py, vtc_pred_len_req_queue.py",
    .margin_unit = "ratio",
};

struct tenant {     /* by tenant_key; 0: those without a tenant */
    double service; /* weighted tokens, as of at_ns */
    uint64_t at_ns;
    double output;        /* expected tokens; 0: nothing seen yet */
    uint64_t deferred_ns; /* when it was last; valid while waiting */
    uint32_t waiting;     /* 0 or 1: deferred, and not admitted since */
    uint32_t in_flight;   /* of what this instance admitted */
    uint64_t life;        /* its first ticket; 0: none yet. No other counter has it */
};

struct charged { /* by ticket */
    uint64_t tenant, at_ns;
    uint64_t life;         /* of the tenant's counter then */
    double prompt, output; /* tokens */
};

struct learnt { /* what is saved, beside the tables */
    struct adp_life life;
    struct adp_rate given; /* weighted tokens that were used */
};

struct fair {
    struct learnt learnt;
    uint32_t n_given; /* tickets */
    double input_weight, output_weight, half_life_s;
    struct adp_table *tenants, *charged; /* in this block */
};

static struct tenant *tenant_in(struct adp_row *row)
{
    return (struct tenant *)(void *)(row + 1);
}

/* What was in flight counts as waiting: it may have ended since it was saved, and a reload
 * must not forgive a lead by calling everybody idle. */
static bool restore(struct fair *f, const unsigned char *saved, uint64_t len)
{
    uint64_t at = adp_saved_read(saved, len, LAYOUT, &f->learnt, sizeof f->learnt);
    if (!at)
        return false;
    uint64_t part = adp_table_restore(f->tenants, saved + at, len - at, LAYOUT_TENANTS);
    at += part;
    if (!part || !adp_table_restore(f->charged, saved + at, len - at, LAYOUT_CHARGED))
        return false;
    adp_life_restore(&f->learnt.life);
    for (struct adp_row *row = adp_table_next(f->tenants, NULL); row;
         row = adp_table_next(f->tenants, row)) {
        struct tenant *t = tenant_in(row);
        if (!t->in_flight)
            continue;
        t->in_flight = 0;
        t->waiting = 1;
        t->deferred_ns = row->used_ns;
    }
    return true;
}

static void *create(const adp_setup *setup)
{
    uint32_t n = (uint32_t)setup->param[TENANTS];
    uint64_t tenants = adp_table_bytes(n, sizeof(struct tenant));
    uint64_t charged = adp_table_bytes(IN_FLIGHT, sizeof(struct charged));
    struct fair *f = calloc(1, sizeof *f + (size_t)(tenants + charged));
    if (!f)
        return adp_cannot(setup, "out of memory");
    f->input_weight = setup->param[INPUT_WEIGHT];
    f->output_weight = setup->param[OUTPUT_WEIGHT];
    f->half_life_s = setup->param[HALF_LIFE_S];
    f->tenants = adp_table_init(f + 1, n, sizeof(struct tenant));
    f->charged =
        adp_table_init((char *)(f + 1) + tenants, IN_FLIGHT, sizeof(struct charged));
    if (!restore(f, setup->saved, setup->saved_len)) {
        f->learnt = (struct learnt) { 0 };
        adp_table_init(f->tenants, n, sizeof(struct tenant));
    }
    return f;
}

/* The part of service from `then` that still counts. */
static double remembered(const struct fair *f, uint64_t then_ns, uint64_t now_ns)
{
    if (!(f->half_life_s > 0.0) || now_ns <= then_ns)
        return 1.0;
    return exp2(-(double)(now_ns - then_ns) * 1e-9 / f->half_life_s);
}

static double service_of(const struct fair *f, const struct tenant *t, uint64_t now_ns)
{
    return t->service * remembered(f, t->at_ns, now_ns);
}

static bool is_active(const struct tenant *t, const adp_view *v)
{
    uint64_t idle_ns = (uint64_t)(v->param[IDLE_S] * 1e9);
    return t->in_flight ||
           (t->waiting && !adp_time_past(v->now_ns, t->deferred_ns, idle_ns));
}

/* The tenants that are active, the one with `key` apart: how many, and the least service
 * among them; with none, that of the one who asked last, and 0 when nobody did. Walks the
 * table. */
static double least_of_others(struct fair *f, const adp_view *v, uint64_t key,
                              uint32_t *ret_n)
{
    double least = 0.0;
    uint32_t n = 0;
    bool last = true;
    for (struct adp_row *row = adp_table_prev(f->tenants, NULL); row;
         row = adp_table_prev(f->tenants, row)) {
        if (row->key == key)
            continue;
        bool active = is_active(tenant_in(row), v);
        double service = active || last ? service_of(f, tenant_in(row), v->now_ns) : 0.0;
        if (active ? !n || service < least : last)
            least = service;
        n += active;
        last = false;
    }
    *ret_n = n;
    return least;
}

/* The tenant of a request, its service as of now, lifted if it was idle. */
static struct tenant *asking(struct fair *f, const adp_view *v, uint64_t key)
{
    struct tenant *t = adp_table_touch(f->tenants, key, v->now_ns, NULL);
    t->service = service_of(f, t, v->now_ns);
    t->at_ns = v->now_ns;
    if (!is_active(t, v)) {
        uint32_t others = 0;
        double least = least_of_others(f, v, key, &others);
        t->service = t->service > least ? t->service : least;
    }
    return t;
}

/* The counter that was charged; NULL when it made room, also if its tenant has another. */
static struct tenant *charged_to(struct fair *f, const struct charged *c)
{
    struct tenant *t = adp_table_find(f->tenants, c->tenant);
    return t && t->life == c->life ? t : NULL;
}

/* A request that a forerunner admitted was never counted here: it lands nothing. */
static void land(const struct fair *f, struct tenant *t, uint64_t ticket)
{
    if (adp_life_gave(&f->learnt.life, ticket) && t->in_flight)
        t->in_flight--;
}

/* A charge for which there is no room any more is never put right, and its request counts
 * as in flight no more. */
static void make_room(struct fair *f)
{
    uint64_t ticket = 0;
    const struct charged *oldest = adp_table_oldest(f->charged, &ticket, NULL);
    struct tenant *t = oldest ? charged_to(f, oldest) : NULL;
    if (adp_table_full(f->charged) && t)
        land(f, t, ticket);
}

static void admit(struct fair *f, const adp_view *v, uint64_t key, struct tenant *t,
                  adp_verdict *w)
{
    const adp_request *r = v->request;
    struct charged c = {
        .tenant = key,
        .at_ns = v->now_ns,
        .prompt =
            r->present & ADP_PROMPT ? (double)r->prompt_tokens : v->param[PROMPT_GUESS],
        .output = t->output,
    };
    if (r->present & ADP_OUTPUT && (double)r->max_output_tokens < c.output)
        c.output = (double)r->max_output_tokens;
    t->service += f->input_weight * c.prompt + f->output_weight * c.output;
    t->waiting = 0;
    t->in_flight++;
    w->ticket = adp_life_ticket(&f->learnt.life, ++f->n_given, v->now_ns);
    t->life = t->life ? t->life : w->ticket;
    c.life = t->life;
    make_room(f);
    *(struct charged *)adp_table_touch(f->charged, w->ticket, v->now_ns, NULL) = c;
    adp_admit(w);
}

/* The least served gains on it by what one of the active tenants is given. */
static double retry_ms(struct fair *f, const adp_view *v, double over, uint32_t active)
{
    double per_s = adp_rate_per_s(&f->learnt.given, v->now_ns, RATE_WINDOW_NS);
    return adp_jitter_ms(adp_drain_ms(over, per_s / active, RETRY_CAP_MS), RETRY_SPREAD,
                         v->draw);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct fair *f = self;
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
    uint64_t key = v->request->tenant ? v->request->tenant_key : 0;
    struct tenant *t = asking(f, v, key);
    if (!pool.present || pool.saturation < 1.0) {
        if (pool.present)
            adp_margin(w, pool.saturation - 1.0);
        admit(f, v, key, t, w);
        return;
    }
    uint32_t others = 0;
    double least = least_of_others(f, v, key, &others);
    double lead = others && t->service > least ? t->service - least : 0.0;
    double over = lead - param[MAX_LEAD];
    adp_margin_above(w, over / param[MAX_LEAD]);
    if (over > 0.0) {
        t->waiting = 1;
        t->deferred_ns = v->now_ns;
        adp_defer(w, ADP_R_TENANT_QUOTA, ADP_NONE, retry_ms(f, v, over, others + 1u));
    } else {
        admit(f, v, key, t, w);
    }
}

/* Puts the charge right, as of when it was made. What is not reported was used as
 * expected, also when nothing is known (LOST). */
static void outcome(void *self, const adp_outcome *o)
{
    struct fair *f = self;
    const struct charged *c = adp_table_find(f->charged, o->ticket);
    if (!c)
        return;
    struct tenant *t = charged_to(f, c);
    bool ran = o->kind == ADP_DONE || o->kind == ADP_FAILED || o->kind == ADP_CANCELLED;
    double prompt =
        ran && o->present & ADP_O_PROMPT ? (double)o->prompt_tokens : c->prompt;
    double output =
        ran && o->present & ADP_O_OUTPUT ? (double)o->output_tokens : c->output;
    double used = f->input_weight * prompt + f->output_weight * output;
    if (o->kind == ADP_NOT_RUN)
        used = 0.0;
    if (ran)
        adp_rate_add(&f->learnt.given, used, o->now_ns, RATE_WINDOW_NS);
    if (t) {
        land(f, t, o->ticket);
        double expected = f->input_weight * c->prompt + f->output_weight * c->output;
        t->service += (used - expected) * remembered(f, c->at_ns, t->at_ns);
        if (t->service < 0.0)
            t->service = 0.0;
        if (o->kind == ADP_DONE && o->present & ADP_O_OUTPUT)
            t->output = t->output > 0.0
                            ? t->output + (output - t->output) / PREDICTION_WINDOW
                            : output;
    }
    adp_table_remove(f->charged, o->ticket);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct fair *f = self;
    unsigned char *at = to;
    uint64_t n = adp_saved_write(at, cap, LAYOUT, &f->learnt, sizeof f->learnt);
    uint64_t tenants =
        n ? adp_table_save(f->tenants, at + n, cap - n, LAYOUT_TENANTS) : 0;
    n += tenants;
    uint64_t charged =
        tenants ? adp_table_save(f->charged, at + n, cap - n, LAYOUT_CHARGED) : 0;
    return charged ? n + charged : 0;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "tenant_fair",
    .version = "1.0",
    .doc = "defers the tenants furthest ahead in service while the pool is saturated",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct learnt)) +
                 ADP_TABLE_SAVED_BYTES(MAX_TENANTS, sizeof(struct tenant)) +
                 ADP_TABLE_SAVED_BYTES(IN_FLIGHT, sizeof(struct charged)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
