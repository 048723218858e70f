/* SPDX-License-Identifier: MIT */
/* prefill_backlog: defers a request whose first token would come too late behind the
 * prompts that are to be read before its own.
 *
 * With B tokens of admitted prompts not yet read, l of its own, and a deployment that reads
 * P tokens a second,
 *
 *     ttft = (B + l) / P                  deferred when above its deadline, or ttft_slo_ms
 *
 * This is vLLM's bound on queued prompt tokens, sized as its documentation says: target
 * TTFT times prefill throughput (vLLM PR 49445, --max-num-queued-tokens; the field in
 * vllm/config/scheduler.py), solved for the time. Dynamo bounds the same quantity
 * (active_prefill_tokens_threshold), LiteLLM #41957 asks for it at a gateway. `max_reqs`
 * is that PR's other bound, on requests in flight, waiting or running.
 *
 * B is an estimate here: who stands before the engine does not see a first token until
 * the whole answer's outcome. It is a line of tokens, admitted at its end and read from
 * its front at P:
 *
 *           read                     B
 *     ├───────────────┼──────────────────────────────┤
 *     0             front                           end        a request: (place, tokens]
 *
 *  - a request that had its first token shows that the front has passed its place;
 *  - one that ended without takes its unread tokens out;
 *  - the engine's own queue, if longer, counts as so many prompts of the mean length.
 *
 * Counted at admission, by the length the host states (vLLM #58192: counting later lets a
 * burst through). A request too long for an idle deployment is rejected, not deferred: it
 * would come back for ever. A frozen queue reading cannot lock it: a probe goes through
 * when only that reading refuses (vLLM #29928).
 *
 * State: the line, and the place of each request in flight, at most 16,384. Places are
 * not saved: what is saved may be older than the end of a request that was in flight then
 * (a process that died), and its place would be held for ever. The line is, so what was
 * admitted before is still read from it by the clock. docs/policies/prefill_backlog.md. */
#include <admitperf/latch.h>
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <float.h>
#include <stdlib.h>

enum { QUEUE };
enum { TTFT_SLO_MS, PREFILL_TOKENS_PER_S, MAX_REQS, PROMPT_GUESS, PROBE_MS };
enum { LAYOUT = 2, IN_FLIGHT = 16384 };
static const double MEAN_WEIGHT = 1.0 / 32.0; /* of the last prompt in the mean length */
static const uint64_t RATE_WINDOW_NS = 10u * UINT64_C(1000000000);
static const double RETRY_CAP_MS = 30000.0; /* llm-d #2487 */
static const double RETRY_SPREAD = 0.5;
/* A deadline beyond it is none: the line would be as long. As ttft_slo_ms goes. */
static const double LONGEST_DEADLINE_MS = 86400000.0;

static const adp_signal signals[] = {
    [QUEUE] = { .name = "queue_depth", .unit = "requests" },
};

static const adp_param params[] = {
    [TTFT_SLO_MS] = { .name = "ttft_slo_ms",
                      .unit = "ms",
                      .doc = "time to first token of a request that states no deadline",
                      .lo = 1.0,
                      .hi = 86400000.0,
                      .dflt = 1.0,
                      .kind = ADP_F64,
                      .flags = ADP_REQUIRED },
    [PREFILL_TOKENS_PER_S] = { .name = "prefill_tokens_per_s",
                               .unit = "tokens/s",
                               .doc = "prompt tokens that the whole deployment reads, "
                                      "measured",
                               .lo = 1.0,
                               .hi = 1e9,
                               .dflt = 1.0,
                               .kind = ADP_F64,
                               .flags = ADP_REQUIRED },
    [MAX_REQS] = { .name = "max_reqs",
                   .unit = "requests",
                   .doc = "in flight at most, waiting or running; 0: no bound",
                   .lo = 0.0,
                   .hi = IN_FLIGHT,
                   .dflt = 0.0,
                   .kind = ADP_I64 },
    [PROMPT_GUESS] = { .name = "prompt_guess",
                       .unit = "tokens",
                       .doc = "length of a prompt whose length the host does not state",
                       .lo = 1.0,
                       .hi = 1e9,
                       .dflt = 512.0,
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
    .slo_awareness = "deadline",
    .signal_quantity = "wait_estimate",
    .signal_structure = "scalar",
    .metadata_assumed = "deadlines",
    .portability = "A",
    .source = "vLLM PR 49445 (max_num_queued_tokens, max_num_queued_reqs); Dynamo "
              "active_prefill_tokens_threshold; LiteLLM #41957",
    .margin_unit = "ratio",
};

struct line { /* what is saved */
    struct adp_stopwatch watch;
    double end, front;    /* tokens since the beginning; front <= end */
    double read_per_s;    /* of this process, as last decided with */
    double mean;          /* length of a prompt; 0: none was admitted yet */
    struct adp_rate left; /* requests that ended */
    struct adp_probe probe;
    struct adp_life life;
};

struct place { /* of a request in flight, by its ticket */
    double end, tokens;
};

struct backlog {
    struct line line;
    uint32_t given;              /* tickets */
    double share;                /* of the deployment that this process may fill */
    struct adp_table *in_flight; /* in this block */
};

static void *create(const adp_setup *setup)
{
    struct backlog *b =
        calloc(1, sizeof *b + (size_t)adp_table_bytes(IN_FLIGHT, sizeof(struct place)));
    if (!b)
        return adp_cannot(setup, "out of memory");
    b->in_flight = adp_table_init(b + 1, IN_FLIGHT, sizeof(struct place));
    b->share = 1.0 / (setup->n_instances ? setup->n_instances : 1u);
    adp_saved_read(setup->saved, setup->saved_len, LAYOUT, &b->line, sizeof b->line);
    adp_life_restore(&b->line.life);
    return b;
}

static void move_front(struct line *l, double to)
{
    if (to > l->front)
        l->front = to < l->end ? to : l->end;
}

static void read_on(struct line *l, uint64_t now_ns)
{
    double s = (double)adp_stopwatch_lap(&l->watch, now_ns) * 1e-9;
    move_front(l, l->front + s * l->read_per_s);
}

static bool has_deadline(const adp_request *r)
{
    return r->present & ADP_DEADLINE && r->ttft_deadline_ms <= LONGEST_DEADLINE_MS;
}

/* What a request would wait for, seconds. */
struct estimate {
    double own, engine; /* prompts before it, by the line and by the engine's queue */
    double alone;       /* its own prompt */
    double slo;
};

static struct estimate estimate_of(const struct backlog *b, const adp_view *v,
                                   double tokens)
{
    const struct line *l = &b->line;
    double per_s = v->param[PREFILL_TOKENS_PER_S];
    double mean = l->mean > 0.0 ? l->mean : tokens;
    bool deadline = has_deadline(v->request);
    return (struct estimate) {
        .own = (l->end - l->front) / (per_s * b->share),
        .engine = adp_has(v, QUEUE) ? v->signal[QUEUE] * mean / per_s : 0.0,
        .alone = tokens / per_s,
        .slo = (deadline ? v->request->ttft_deadline_ms : v->param[TTFT_SLO_MS]) * 1e-3,
    };
}

static void admit(struct backlog *b, const adp_view *v, double tokens, adp_verdict *w)
{
    struct line *l = &b->line;
    w->ticket = adp_life_ticket(&l->life, ++b->given, v->now_ns);
    l->end += tokens;
    l->mean = l->mean > 0.0 ? l->mean + (tokens - l->mean) * MEAN_WEIGHT : tokens;
    struct place *place = adp_table_touch(b->in_flight, w->ticket, v->now_ns, NULL);
    *place = (struct place) { .end = l->end, .tokens = tokens };
    adp_admit(w);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct backlog *b = self;
    struct line *l = &b->line;
    const adp_request *r = v->request;
    double tokens =
        r->present & ADP_PROMPT ? (double)r->prompt_tokens : v->param[PROMPT_GUESS];
    l->read_per_s = v->param[PREFILL_TOKENS_PER_S] * b->share;
    read_on(l, v->now_ns);

    struct estimate e = estimate_of(b, v, tokens);
    double wait = e.own > e.engine ? e.own : e.engine;
    double late = wait + e.alone - e.slo, too_many = -1.0;
    double margin = late / (e.slo > 0.0 ? e.slo : 1.0);
    double max_reqs = v->param[MAX_REQS] * b->share;
    if (max_reqs > 0.0) {
        too_many = b->in_flight->count + 1.0 - (max_reqs > 1.0 ? max_reqs : 1.0);
        double over = too_many / max_reqs;
        margin = margin > over ? margin : over;
    }
    margin = margin < DBL_MAX ? margin : DBL_MAX; /* it must be finite */

    if (e.alone > e.slo) {
        adp_margin_above(w, margin);
        adp_reject(w,
                   has_deadline(r) ? ADP_R_DEADLINE_INFEASIBLE : ADP_R_REQUEST_TOO_LARGE,
                   ADP_NONE);
    } else if (too_many > 0.0) {
        double per_s = adp_rate_per_s(&l->left, v->now_ns, RATE_WINDOW_NS);
        double ms = adp_drain_ms(too_many, per_s, RETRY_CAP_MS);
        adp_margin_above(w, margin);
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE,
                  adp_jitter_ms(ms, RETRY_SPREAD, v->draw));
    } else if (late > 0.0) {
        /* the line is read by the clock and always moves; the engine's reading may not */
        bool by_engine = e.own + e.alone <= e.slo;
        if (by_engine && adp_probe_due(&l->probe, v->signal[QUEUE], v->now_ns,
                                       (uint64_t)v->param[PROBE_MS] * 1000000u)) {
            admit(b, v, tokens, w);
            return;
        }
        double ms = late * 1e3 < RETRY_CAP_MS ? late * 1e3 : RETRY_CAP_MS;
        adp_margin_above(w, margin);
        adp_defer(w, ADP_R_WAIT_ESTIMATE_EXCEEDED, by_engine ? QUEUE : ADP_NONE,
                  adp_jitter_ms(ms, RETRY_SPREAD, v->draw));
    } else {
        adp_probe_open(&l->probe);
        adp_margin_above(w, margin);
        admit(b, v, tokens, w);
    }
}

static void outcome(void *self, const adp_outcome *o)
{
    struct backlog *b = self;
    struct line *l = &b->line;
    const struct place *place = adp_table_find(b->in_flight, o->ticket);
    bool ran = o->kind == ADP_DONE || o->kind == ADP_FAILED || o->kind == ADP_CANCELLED;
    if (ran)
        adp_rate_add(&l->left, 1.0, o->now_ns, RATE_WINDOW_NS);
    if (!place)
        return;
    read_on(l, o->now_ns);
    if (o->kind == ADP_DONE || (ran && o->present & ADP_O_TTFT)) {
        move_front(l, place->end);
    } else if (ran || o->kind == ADP_NOT_RUN) { /* of another end nothing is known */
        double unread = place->end - l->front;
        if (unread > 0.0)
            move_front(l, l->front + (unread < place->tokens ? unread : place->tokens));
    }
    adp_table_remove(b->in_flight, o->ticket);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct backlog *b = self;
    return adp_saved_write(to, cap, LAYOUT, &b->line, sizeof b->line);
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_signals = ADP_COUNT(signals),
    .signals = signals,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "prefill_backlog",
    .version = "1.0",
    .doc = "defers a request whose first token would come too late behind other prompts",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct line)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
