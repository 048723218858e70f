/* SPDX-License-Identifier: MIT */
/* token_bucket: so many tokens a second with a burst, for the deployment or for each
 * tenant; reserved at admission, settled at the outcome.
 *
 *     level = min(capacity, level + refill · time)
 *     cost = prompt + expected output        deferred when above the level
 *
 * The bucket is BLIS's (inference-sim, sim/admission.go, TokenBucket; capacity 10,000 and
 * refill 1,000 tokens/s are the defaults of cmd/root.go; cost there is the prompt alone,
 * paid once).
 * Reserve and commit as asked for in Kuadrant limitador #506: the expected output is
 * reserved too, and the outcome pays back or charges the difference, since limits that are
 * charged after the response let concurrent requests overshoot (Envoy AI Gateway #680).
 *
 * Not copied: a request that costs more than the capacity, which the source refuses for
 * ever as if it had to wait; it is request_too_large here. What is refused costs nothing
 * (LiteLLM #39309).
 *
 * Of a deployment of n processes each has a bucket of 1/n. A request that is larger than
 * that and not than the whole passes when the bucket is full, and leaves a debt: else the
 * number of processes would decide what can be served. Long answers leave debts as well;
 * time pays them.
 *
 * A bucket is made by the first request that it admits: were it made by one that is
 * refused, requests too large for anybody, under ever new names, would push out the
 * buckets that are spent. What a bucket that was pushed out had reserved is settled with
 * nobody, not with the one that its tenant has now.
 *
 * State: a bucket for each of `tenants` (without per_tenant: one), and the reservations of
 * at most 4,096 requests in flight; one that has no room stays charged as estimated.
 * docs/policies/token_bucket.md. */
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <stdlib.h>

enum { CAPACITY, REFILL, PER_TENANT, TENANTS, PROMPT_GUESS, OUTPUT_GUESS };
enum { LAYOUT = 7, LAYOUT_BUCKETS, LAYOUT_RESERVED };
enum { MAX_TENANTS = 4096, IN_FLIGHT = 4096 };
static const double RETRY_SPREAD = 0.5;

static const adp_param params[] = {
    [CAPACITY] = { .name = "capacity",
                   .unit = "tokens",
                   .doc = "largest burst, and largest request",
                   .lo = 1.0,
                   .hi = 1e12,
                   .dflt = 1e4,
                   .kind = ADP_F64 },
    [REFILL] = { .name = "refill",
                 .unit = "tokens/s",
                 .doc = "sustained rate of the whole deployment, or of each tenant",
                 .lo = 1e-3,
                 .hi = 1e12,
                 .dflt = 1e3,
                 .kind = ADP_F64 },
    [PER_TENANT] = { .name = "per_tenant",
                     .unit = "",
                     .doc = "a bucket for each tenant; those without one share one",
                     .lo = 0.0,
                     .hi = 1.0,
                     .dflt = 0.0,
                     .kind = ADP_BOOL,
                     .flags = ADP_FIXED },
    [TENANTS] = { .name = "tenants",
                  .unit = "",
                  .doc = "buckets kept at most; the longest idle makes room, refilled",
                  .lo = 1.0,
                  .hi = MAX_TENANTS,
                  .dflt = 1024.0,
                  .kind = ADP_I64,
                  .flags = ADP_FIXED },
    [PROMPT_GUESS] = { .name = "prompt_guess",
                       .unit = "tokens",
                       .doc = "length of a prompt whose length the host does not state",
                       .lo = 0.0,
                       .hi = 1e9,
                       .dflt = 512.0,
                       .kind = ADP_I64 },
    [OUTPUT_GUESS] = { .name = "output_guess",
                       .unit = "tokens",
                       .doc = "expected output of a request that states no maximum",
                       .lo = 0.0,
                       .hi = 1e9,
                       .dflt = 256.0,
                       .kind = ADP_I64 },
};

static const adp_card card = {
    .unit = "request",
    .setting = "online",
    .slo_awareness = "fairness",
    .signal_quantity = "rate",
    .signal_structure = "scalar",
    .metadata_assumed = "none",
    .portability = "A",
    .source =
        "inference-sim (BLIS): sim/admission.go, TokenBucket; Kuadrant limitador #506",
    .margin_unit = "tokens",
};

struct bucket {   /* by tenant_key; 0: everybody, or those without a tenant */
    double level; /* tokens; below 0 a debt */
    struct adp_stopwatch watch;
    uint64_t life; /* the first ticket that it gave; no other bucket has it */
};

struct reserved { /* by ticket */
    uint64_t tenant;
    uint64_t life;         /* of the tenant's bucket then */
    double prompt, output; /* tokens */
};

struct token_bucket {
    struct adp_life life; /* saved */
    uint32_t given;       /* tickets */
    double share;         /* of the deployment's tokens that are this process's */
    struct adp_table *buckets, *reserved; /* in this block */
};

static bool restore(struct token_bucket *b, const unsigned char *saved, uint64_t len)
{
    uint64_t at = adp_saved_read(saved, len, LAYOUT, &b->life, sizeof b->life);
    if (!at)
        return false;
    uint64_t part = adp_table_restore(b->buckets, saved + at, len - at, LAYOUT_BUCKETS);
    at += part;
    adp_life_restore(&b->life);
    return part && adp_table_restore(b->reserved, saved + at, len - at, LAYOUT_RESERVED);
}

static void *create(const adp_setup *setup)
{
    bool per_tenant = setup->param[PER_TENANT] != 0.0;
    uint32_t tenants = per_tenant ? (uint32_t)setup->param[TENANTS] : 1u;
    uint64_t buckets = adp_table_bytes(tenants, sizeof(struct bucket));
    uint64_t reserved = adp_table_bytes(IN_FLIGHT, sizeof(struct reserved));
    struct token_bucket *b = calloc(1, sizeof *b + (size_t)(buckets + reserved));
    if (!b)
        return adp_cannot(setup, "out of memory");
    b->buckets = adp_table_init(b + 1, tenants, sizeof(struct bucket));
    b->reserved =
        adp_table_init((char *)(b + 1) + buckets, IN_FLIGHT, sizeof(struct reserved));
    b->share = 1.0 / (setup->n_instances ? setup->n_instances : 1u);
    if (!restore(b, setup->saved, setup->saved_len)) {
        b->life = (struct adp_life) { 0 };
        adp_table_init(b->buckets, tenants, sizeof(struct bucket));
    }
    return b;
}

/* The level of a bucket, filled up to now. NULL: there is none, and a new one is full. */
static double level_of(const struct token_bucket *b, const adp_view *v,
                       struct bucket *bucket)
{
    double capacity = v->param[CAPACITY] * b->share;
    if (!bucket)
        return capacity;
    double s = (double)adp_stopwatch_lap(&bucket->watch, v->now_ns) * 1e-9;
    bucket->level += s * v->param[REFILL] * b->share;
    if (bucket->level > capacity)
        bucket->level = capacity;
    return bucket->level;
}

/* Takes the cost out of the tenant's bucket, which is now the last used. */
static void admit(struct token_bucket *b, const adp_view *v, struct reserved cost,
                  double level, adp_verdict *w)
{
    bool is_new = false;
    w->ticket = adp_life_ticket(&b->life, ++b->given, v->now_ns);
    struct bucket *bucket = adp_table_touch(b->buckets, cost.tenant, v->now_ns, &is_new);
    if (is_new) {
        bucket->life = w->ticket;
        adp_stopwatch_lap(&bucket->watch, v->now_ns);
    }
    bucket->level = level - (cost.prompt + cost.output);
    cost.life = bucket->life;
    *(struct reserved *)adp_table_touch(b->reserved, w->ticket, v->now_ns, NULL) = cost;
    adp_admit(w);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct token_bucket *b = self;
    const adp_request *r = v->request;
    const double *param = v->param;
    bool per_tenant = param[PER_TENANT] != 0.0;
    struct reserved cost = {
        .tenant = per_tenant && r->tenant ? r->tenant_key : 0,
        .prompt =
            r->present & ADP_PROMPT ? (double)r->prompt_tokens : param[PROMPT_GUESS],
        .output =
            r->present & ADP_OUTPUT ? (double)r->max_output_tokens : param[OUTPUT_GUESS],
    };
    double level = level_of(b, v, adp_table_find(b->buckets, cost.tenant));
    double tokens = cost.prompt + cost.output;
    if (tokens > param[CAPACITY]) {
        adp_margin_above(w, tokens - level);
        adp_reject(w, ADP_R_REQUEST_TOO_LARGE, ADP_NONE);
        return;
    }
    double full = param[CAPACITY] * b->share;
    double missing = (tokens < full ? tokens : full) - level;
    adp_margin_above(w, missing);
    if (missing > 0.0) { /* so it has a bucket, which is kept for as long as it asks */
        adp_table_touch(b->buckets, cost.tenant, v->now_ns, NULL);
        double ms = missing / (param[REFILL] * b->share) * 1e3;
        adp_defer(w, per_tenant ? ADP_R_TENANT_QUOTA : ADP_R_RATE_LIMIT, ADP_NONE,
                  adp_jitter_ms(ms, RETRY_SPREAD, v->draw));
        return;
    }
    admit(b, v, cost, level, w);
}

/* Pays back what was reserved and charges what was used. What is not reported was used as
 * reserved, also when nothing is known (LOST). */
static void outcome(void *self, const adp_outcome *o)
{
    struct token_bucket *b = self;
    const struct reserved *r = adp_table_find(b->reserved, o->ticket);
    if (!r)
        return;
    struct bucket *bucket = adp_table_find(b->buckets, r->tenant);
    if (bucket && bucket->life != r->life)
        bucket = NULL; /* that one is gone, and what it had lent with it */
    if (bucket && o->kind == ADP_NOT_RUN) {
        bucket->level += r->prompt + r->output;
    } else if (bucket && o->kind != ADP_LOST) {
        if (o->present & ADP_O_PROMPT)
            bucket->level += r->prompt - (double)o->prompt_tokens;
        if (o->present & ADP_O_OUTPUT)
            bucket->level += r->output - (double)o->output_tokens;
    }
    adp_table_remove(b->reserved, o->ticket);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct token_bucket *b = self;
    unsigned char *at = to;
    uint64_t n = adp_saved_write(at, cap, LAYOUT, &b->life, sizeof b->life);
    uint64_t buckets =
        n ? adp_table_save(b->buckets, at + n, cap - n, LAYOUT_BUCKETS) : 0;
    n += buckets;
    uint64_t reserved =
        buckets ? adp_table_save(b->reserved, at + n, cap - n, LAYOUT_RESERVED) : 0;
    return reserved ? n + reserved : 0;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "token_bucket",
    .version = "1.0",
    .doc = "tokens a second with a burst: reserved at admission, settled at the outcome",
    .card = &card,
    .threading = ADP_SERIAL,
    .max_saved = ADP_SAVED_BYTES(sizeof(struct adp_life)) +
                 ADP_TABLE_SAVED_BYTES(MAX_TENANTS, sizeof(struct bucket)) +
                 ADP_TABLE_SAVED_BYTES(IN_FLIGHT, sizeof(struct reserved)),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
