/* SPDX-License-Identifier: MIT */
/* Requests for a policy under check (runtime/check/traffic.h). */
#include "runtime/check/traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PENDING = 32, TENANTS = 8 };

static const struct {
    const char *word;
    double number;
    uint64_t integer; /* of the same kind, where an integer goes */
} fills[ADP_FILLS] = {
    { "0", 0.0, 0 },
    { "1", 1.0, 1 },
    { "-1", -1.0, UINT64_MAX },
    { "NaN", (double)NAN, UINT64_C(0x7ff8000000000000) },
    { "Inf", (double)INFINITY, INT64_MAX },
    { "-Inf", -(double)INFINITY, (uint64_t)INT64_MIN },
    { "1e308", 1e308, UINT64_MAX - 1 },
    { "5e-324", 5e-324, 2 },
    { "0.5", 0.5, 1000 },
    { "numbers that could be true", 0.0, 0 }, /* drawn for each place */
};
enum { DRAWN = ADP_FILLS - 1 };

const char *adp_traffic_fill_word(uint32_t fill)
{
    return fills[fill].word;
}

void adp_traffic_init(struct adp_traffic *t, const struct adp_subject *subject,
                      const struct adp_plan *plan, const double *param)
{
    t->subject = subject;
    t->plan = *plan;
    t->param = param;
    t->in_force = param;
    t->n_pending = 0;
    t->settled = 0;
    t->seed = plan->seed;
    t->fill_seed = ~plan->seed;
    t->now_ns = plan->start_ns ? plan->start_ns : 1000000000000u;
    if (!t->plan.pending)
        t->plan.pending = PENDING;
}

static bool chance(struct adp_traffic *t, double p)
{
    return adp_subject_unit(&t->seed) < p;
}

static bool present(struct adp_traffic *t, double usual)
{
    bool dice = chance(t, usual); /* drawn in any case: the same stream in every mode */
    return t->plan.presence == ADP_PRESENCE_ALL ||
           (t->plan.presence == ADP_PRESENCE_MIXED && dice);
}

/* Once in `often`, at the edge of what the header allows. */
static bool at_edge(struct adp_traffic *t, uint32_t often)
{
    return adp_subject_next(&t->seed) % often == 0 && !t->plan.no_edges;
}

/* --- signals --- */

/* Anywhere in the signal's range; where that is open, by orders of magnitude. */
static double anywhere(struct adp_traffic *t, uint32_t slot)
{
    double lo = t->subject->lo[slot], hi = t->subject->hi[slot];
    double unit = adp_subject_unit(&t->seed);
    if (isfinite(lo) && isfinite(hi))
        return lo + (hi - lo) * unit;
    double value = (isfinite(lo) ? lo : 0.0) + expm1(unit * log1p(1e5));
    return chance(t, 0.5) ? floor(value) : value;
}

/* At a threshold that the policy declares for this slot, or a hair beside it. */
static bool at_threshold(struct adp_traffic *t, uint32_t slot, double *ret)
{
    const struct adp_policy *p = t->subject->policy;
    uint32_t from = p->n_gates ? (uint32_t)(adp_subject_next(&t->seed) % p->n_gates) : 0;
    for (uint32_t i = 0; i < p->n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(t->subject->loaded, (from + i) % p->n_gates);
        if (g.signal != slot || g.param == ADP_NONE)
            continue;
        double at = t->param[g.param];
        switch (adp_subject_next(&t->seed) % 5) {
        case 0:
            at = nextafter(at, INFINITY);
            break;
        case 1:
            at = nextafter(at, -INFINITY);
            break;
        case 2:
            at += 1.0;
            break;
        case 3:
            at -= 1.0;
            break;
        }
        *ret = at;
        return at >= t->subject->lo[slot] && at <= t->subject->hi[slot];
    }
    return false;
}

/* Who declares no gates compares with parameters all the same: at one that lies in the
 * signal's range. */
static bool at_param(struct adp_traffic *t, uint32_t slot, double *ret)
{
    const struct adp_policy *p = t->subject->policy;
    uint32_t from =
        p->n_params ? (uint32_t)(adp_subject_next(&t->seed) % p->n_params) : 0;
    for (uint32_t i = 0; i < p->n_params; i++) {
        double at = t->param[(from + i) % p->n_params];
        if (at < t->subject->lo[slot] || at > t->subject->hi[slot])
            continue;
        *ret = at;
        return true;
    }
    return false;
}

static double reading(struct adp_traffic *t, uint32_t slot)
{
    double value;
    if (chance(t, 0.4) && at_threshold(t, slot, &value))
        return value;
    if (!t->subject->policy->n_gates && chance(t, 0.2) && at_param(t, slot, &value))
        return value;
    return anywhere(t, slot);
}

/* --- what fills the places that may not be read --- */

/* Near a parameter's value, where whoever compares with it changes his mind; or what
 * readings, facts and measured numbers often are, or by orders of magnitude. Not from the
 * stream's own seed: the stream stays the same. */
static double plausible(struct adp_traffic *t)
{
    static const double usual[] = { 100.0, 200.0, 429.0, 503.0, 5000.0, 1e5 };
    enum { USUAL = sizeof usual / sizeof usual[0] };
    uint32_t n_params = t->subject->policy->n_params;
    uint64_t *seed = &t->fill_seed;
    uint32_t how = (uint32_t)(adp_subject_next(seed) % 8);
    double at = n_params ? t->param[adp_subject_next(seed) % n_params] : 1.0;
    switch (how) {
    case 0:
        return at;
    case 1:
        return at * (1.0 + 1e-9);
    case 2:
        return 2.0 * at;
    case 3:
        return at + 20.0;
    case 4:
        return usual[adp_subject_next(seed) % USUAL];
    default:
        return expm1(adp_subject_unit(seed) * log1p(1e6));
    }
}

/* As a reading of this slot would be, every second time. */
static double fill_reading(struct adp_traffic *t, uint32_t slot)
{
    if (t->plan.fill_signals != DRAWN)
        return fills[t->plan.fill_signals].number;
    if (adp_subject_next(&t->fill_seed) & 1)
        return plausible(t);
    uint64_t stream = t->seed;
    t->seed = t->fill_seed;
    double value = reading(t, slot);
    t->fill_seed = t->seed;
    t->seed = stream;
    return value;
}

static double fill_number(struct adp_traffic *t, uint32_t fill)
{
    return fill == DRAWN ? plausible(t) : fills[fill].number;
}

static uint64_t fill_integer(struct adp_traffic *t, uint32_t fill)
{
    if (fill != DRAWN)
        return fills[fill].integer;
    double number = plausible(t);
    return number >= 0.0 && number < 0x1p63 ? (uint64_t)number : 1;
}

static void next_signals(struct adp_traffic *t, double *signal, uint64_t *ret_present)
{
    *ret_present = 0;
    for (uint32_t i = 0; i < t->subject->policy->n_signals; i++) {
        double value = reading(t, i);
        bool is = present(t, 0.7);
        signal[i] = is ? value : fill_reading(t, i);
        *ret_present |= (uint64_t)is << i;
    }
}

static bool reads_replicas(const struct adp_traffic *t)
{
    for (uint32_t i = 0; i < t->subject->policy->n_signals; i++)
        if (adp_loaded_signal(t->subject->loaded, i).flags & ADP_REPLICAS)
            return true;
    return false;
}

/* As many as may be, once in a while and for those who look at them. */
static void next_replicas(struct adp_traffic *t)
{
    enum { FEW = 4 };
    uint32_t rows = (uint32_t)(adp_subject_next(&t->seed) % (FEW + 1));
    if (at_edge(t, 128) && reads_replicas(t))
        rows = ADP_MAX_REPLICAS;
    bool is = present(t, 0.5) && !t->plan.no_replicas && t->subject->policy->n_signals;
    t->view.n_replicas = is ? rows : 0;
    t->view.replica = is && rows ? t->replica : NULL;
    t->view.replica_present = is && rows ? t->replica_present : NULL;
    for (uint32_t r = 0; r < rows; r++) {
        double *row = t->replica + r * t->subject->policy->n_signals;
        next_signals(t, row, &t->replica_present[r]);
        for (uint32_t i = 0; i < t->subject->policy->n_signals; i++)
            if (!(adp_loaded_signal(t->subject->loaded, i).flags & ADP_REPLICAS)) {
                row[i] = fill_reading(t, i);
                t->replica_present[r] &= ~(UINT64_C(1) << i);
            }
    }
}

/* --- facts --- */

/* As long as a text may be, that of a hash, and one of two bytes a letter. */
static const char *const edge_texts[] = {
    "tenant-with-the-longest-name-that-may-come-0123456789-0123456789",
    "xxh3:99aa06d3014798d86001c324468d497f",
    "\303\244\303\266\303\274",
};
enum { EDGE_TEXTS = sizeof edge_texts / sizeof edge_texts[0] };
_Static_assert(
    sizeof "tenant-with-the-longest-name-that-may-come-0123456789-0123456789" == 65,
    "64 bytes");

static const char *next_text(struct adp_traffic *t, const char *const *texts, uint32_t n)
{
    const char *text = texts[adp_subject_next(&t->seed) % n];
    if (at_edge(t, 24))
        text = edge_texts[adp_subject_next(&t->seed) % EDGE_TEXTS];
    return present(t, 0.6) ? text : NULL;
}

static uint64_t key_of(struct adp_traffic *t, const char *text)
{
    return text ? XXH3_64bits(text, strlen(text)) : fill_integer(t, t->plan.fill_facts);
}

/* Whoever keeps a row for each finds no end of them: some are seen once, some again and
 * again. Drawn of them all alike, of the few that are often there, or one that is new. */
static const char *one_of_many(struct adp_traffic *t, const char *few, char *to,
                               size_t cap, char kind)
{
    enum { MANY = 4096, SHARE = 4 };
    uint64_t dice = adp_subject_next(&t->seed);
    if (!few || dice % SHARE == 0)
        return few;
    uint64_t number = dice >> 8;
    snprintf(to, cap, "%c%llx", kind,
             (unsigned long long)(dice % SHARE == 1 ? number % MANY : number));
    return to;
}

/* Mostly one of few; of many any number. */
static void next_many(struct adp_traffic *t, struct adp_request *q)
{
    enum { SHARE = 4 };
    q->tenant = one_of_many(t, q->tenant, t->tenant, sizeof t->tenant, 't');
    q->session = one_of_many(t, q->session, t->session, sizeof t->session, 's');
    q->tenant_key = key_of(t, q->tenant);
    q->session_key = key_of(t, q->session);
    uint64_t dice = adp_subject_next(&t->seed);
    if (dice % SHARE == 0)
        q->priority = (int64_t)(dice >> 40) - (1 << 23);
}

static void next_edges(struct adp_traffic *t, struct adp_request *q)
{
    static const uint64_t tokens[] = { 0,         1,          UINT64_MAX,
                                       INT64_MAX, UINT32_MAX, (UINT64_C(1) << 53) + 1 };
    static const int64_t priorities[] = { INT64_MIN, INT64_MAX, INT32_MIN };
    static const double deadlines_ms[] = { 0.0, -0.0, -1.0, -1e300, 1e300, 5e-324 };
    if (at_edge(t, 24))
        q->prompt_tokens = tokens[adp_subject_next(&t->seed) % 6];
    if (at_edge(t, 24))
        q->max_output_tokens = tokens[adp_subject_next(&t->seed) % 6];
    if (at_edge(t, 24))
        q->priority = priorities[adp_subject_next(&t->seed) % 3];
    if (at_edge(t, 24))
        q->ttft_deadline_ms = deadlines_ms[adp_subject_next(&t->seed) % 6];
}

static double next_draw(struct adp_traffic *t)
{
    double draw = adp_subject_unit(&t->seed);
    if (at_edge(t, 32))
        draw = draw < 0.5 ? 0.0 : 1.0 - 0x1p-53;
    return draw;
}

static void next_facts(struct adp_traffic *t)
{
    static const char *const tenants[TENANTS] = { "acme",  "birch", "cobalt", "delta",
                                                  "ember", "fjord", "gale",   "hale" };
    static const char *const sessions[TENANTS] = { "s0", "s1", "s2", "s3",
                                                   "s4", "s5", "s6", "s7" };
    static const char *const classes[3] = { "interactive", "standard", "batch" };
    struct adp_request *q = &t->request;
    uint32_t fill = t->plan.fill_facts;
    memset(q, 0, sizeof *q);
    q->size = sizeof *q;
    q->tenant = next_text(t, tenants, TENANTS);
    q->session = next_text(t, sessions, TENANTS);
    q->slo_class = next_text(t, classes, 3);
    q->tenant_key = key_of(t, q->tenant);
    q->session_key = key_of(t, q->session);
    q->prompt_tokens = (uint64_t)expm1(adp_subject_unit(&t->seed) * log1p(131072.0));
    q->max_output_tokens = (uint64_t)expm1(adp_subject_unit(&t->seed) * log1p(16384.0));
    q->priority = (int64_t)(adp_subject_next(&t->seed) % 7) - 3;
    q->ttft_deadline_ms = 10000.0 * adp_subject_unit(&t->seed);
    next_edges(t, q);
    if (t->plan.many)
        next_many(t, q);
    q->present =
        (present(t, 0.7) ? ADP_PROMPT : 0u) | (present(t, 0.7) ? ADP_OUTPUT : 0u) |
        (present(t, 0.7) ? ADP_PRIORITY : 0u) | (present(t, 0.7) ? ADP_DEADLINE : 0u);
    if (!(q->present & ADP_PROMPT))
        q->prompt_tokens = fill_integer(t, fill);
    if (!(q->present & ADP_OUTPUT))
        q->max_output_tokens = fill_integer(t, fill);
    if (!(q->present & ADP_PRIORITY))
        q->priority = (int64_t)fill_integer(t, fill);
    if (!(q->present & ADP_DEADLINE))
        q->ttft_deadline_ms = fill_number(t, fill);
}

const struct adp_view *adp_traffic_next(struct adp_traffic *t)
{
    /* 1 us to 55 ms, mostly a few milliseconds: enough for windows of seconds to pass. */
    double step_ns = 1e3 * exp(11.0 * adp_subject_unit(&t->seed));
    t->now_ns += t->plan.still ? 0 : (uint64_t)step_ns;
    t->view = (struct adp_view) {
        .size = sizeof t->view,
        .now_ns = t->now_ns,
        .draw = next_draw(t),
        .signal = t->signal,
        .param = t->in_force,
        .request = &t->request,
    };
    next_signals(t, t->signal, &t->view.present);
    next_replicas(t);
    next_facts(t);
    return &t->view;
}

/* --- outcomes --- */

static uint32_t next_end(struct adp_traffic *t)
{
    uint32_t dice = (uint32_t)(adp_subject_next(&t->seed) % 10);
    if (t->plan.only_end)
        return t->plan.only_end;
    if (!t->plan.every_end)
        return dice < 8 ? ADP_DONE : ADP_FAILED;
    return dice < 4 ? ADP_DONE : ADP_DONE + dice % ADP_LOST;
}

static double pick_ms(struct adp_traffic *t, const double *ms, uint32_t n)
{
    return ms[adp_subject_next(&t->seed) % n] * (0.5 + adp_subject_unit(&t->seed));
}

/* Any status by any end that ran: whether a request went well is the operator's to say, not
 * the status's. Times from none at all to minutes; at a timeout most have passed. */
static void make_rough(struct adp_traffic *t, struct adp_outcome *o)
{
    static const uint32_t statuses[] = { 200, 200, 200, 201, 204, 307, 400,
                                         401, 404, 408, 413, 422, 429, 429,
                                         499, 500, 502, 503, 504, 529, 0 };
    static const double ttfts_ms[] = { 0.0, 0.05, 20.0, 400.0, 2e3, 6e3, 3e4, 2e5 };
    static const double rests_ms[] = { 0.0, 0.01, 1e3, 1e4, 6e4, 3e5 };
    enum { STATUSES = sizeof statuses / sizeof statuses[0] };
    o->http_status = statuses[adp_subject_next(&t->seed) % STATUSES];
    o->ttft_ms = pick_ms(t, ttfts_ms, sizeof ttfts_ms / sizeof ttfts_ms[0]);
    o->total_ms = o->ttft_ms + pick_ms(t, rests_ms, sizeof rests_ms / sizeof rests_ms[0]);
    if (adp_subject_next(&t->seed) % 16 == 0)
        o->output_tokens = 0; /* it ended before the first */
}

static void give_back(struct adp_traffic *t, const struct adp_instance *instance,
                      uint64_t ticket, uint32_t end)
{
    bool ran = end <= ADP_CANCELLED;
    uint32_t dice = (uint32_t)adp_subject_next(&t->seed), fill = t->plan.fill_measures;
    struct adp_outcome o = {
        .size = sizeof o,
        .kind = end,
        .present = ran ? dice & 31u : 0,
        .http_status = end == ADP_FAILED ? 503 : 200,
        .ticket = ticket,
        .now_ns = t->now_ns,
        .prompt_tokens = 1 + (dice >> 8) % 8192,
        .output_tokens = 1 + (dice >> 20) % 1024,
        .ttft_ms = 3000.0 * adp_subject_unit(&t->seed),
    };
    o.total_ms = o.ttft_ms + 10.0 * (double)o.output_tokens;
    if (t->plan.rough && ran)
        make_rough(t, &o);
    if (!(o.present & ADP_O_TTFT))
        o.ttft_ms = fill_number(t, fill);
    if (!(o.present & ADP_O_TOTAL))
        o.total_ms = fill_number(t, fill);
    if (!(o.present & ADP_O_PROMPT))
        o.prompt_tokens = fill_integer(t, fill);
    if (!(o.present & ADP_O_OUTPUT))
        o.output_tokens = fill_integer(t, fill);
    if (!(o.present & ADP_O_STATUS))
        o.http_status = (uint32_t)fill_integer(t, fill);
    t->settled++;
    adp_subject_outcome(t->subject, instance, &o);
}

static void settle_one(struct adp_traffic *t, const struct adp_instance *instance,
                       uint32_t end)
{
    uint32_t i = (uint32_t)(adp_subject_next(&t->seed) % t->n_pending);
    uint64_t ticket = t->ticket[i];
    t->ticket[i] = t->ticket[--t->n_pending];
    give_back(t, instance, ticket, end);
}

void adp_traffic_answered(struct adp_traffic *t, const struct adp_instance *instance,
                          const struct adp_verdict *verdict)
{
    bool runs = verdict->action == ADP_ADMIT;
    bool governed = !t->plan.every_end || chance(t, 0.9);
    uint32_t most =
        t->plan.pending < ADP_TRAFFIC_PENDING ? t->plan.pending : ADP_TRAFFIC_PENDING;
    if (verdict->ticket && (!runs || !governed))
        give_back(t, instance, verdict->ticket, ADP_NOT_RUN);
    else if (verdict->ticket)
        t->ticket[t->n_pending++] = verdict->ticket;
    while (t->n_pending && (t->n_pending >= most || (most == PENDING && chance(t, 0.45))))
        settle_one(t, instance, next_end(t));
}

void adp_traffic_settle(struct adp_traffic *t, const struct adp_instance *instance,
                        uint32_t end)
{
    while (t->n_pending)
        settle_one(t, instance, end ? end : next_end(t));
}

/* --- playing --- */

void adp_play_open(struct adp_play *play, const struct adp_subject *subject,
                   const struct adp_plan *plan, const struct adp_start *start)
{
    play->subject = subject;
    adp_traffic_init(&play->traffic, subject, plan, start->param);
    adp_subject_must_create(&play->instance, subject, start);
    subject->trial->slate->view = 0;
}

struct adp_said adp_play_step(struct adp_play *play)
{
    struct adp_answer answer;
    const struct adp_view *view = adp_traffic_next(&play->traffic);
    adp_subject_decide(play->subject, &play->instance, view, &answer);
    adp_traffic_answered(&play->traffic, &play->instance, &answer.verdict);
    return adp_verdict_said(&answer.verdict);
}

void adp_play_close(struct adp_play *play)
{
    adp_traffic_settle(&play->traffic, &play->instance, 0);
    adp_subject_destroy(play->subject, &play->instance);
}

void adp_play_all(const struct adp_subject *subject, const struct adp_plan *plan,
                  const struct adp_start *start, struct adp_said *said, uint32_t n)
{
    struct adp_play play;
    adp_play_open(&play, subject, plan, start);
    for (uint32_t i = 0; i < n; i++)
        said[i] = adp_play_step(&play);
    adp_play_close(&play);
}

/* --- after a long rest --- */

static uint32_t count_admitted(struct adp_play *play, uint32_t n, uint64_t step_ns)
{
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < n; i++) {
        play->traffic.now_ns += step_ns;
        admitted += adp_play_step(play).action == ADP_ADMIT;
    }
    return admitted;
}

/* Of n requests: how many it admits, and how many a new instance does. */
struct look {
    uint32_t here, there;
};

static struct look look(struct adp_play *play, const struct adp_start *start,
                        const struct adp_plan *plan, uint32_t n, uint64_t step_ns)
{
    struct adp_play fresh;
    struct look l;
    adp_play_open(&fresh, play->subject, plan, start);
    adp_traffic_init(&play->traffic, play->subject, plan, start->param);
    l.here = count_admitted(play, n, step_ns);
    l.there = count_admitted(&fresh, n, step_ns);
    adp_play_close(&fresh);
    return l;
}

/* Next to none of what the new one admits. */
static bool refuses_most(struct look l)
{
    enum { LEAST = 8, SHARE = 4 };
    return l.there >= LEAST && l.here < l.there / SHARE;
}

void adp_play_must_recover(struct adp_play *play, const struct adp_start *start,
                           uint32_t days, uint32_t n, const char *how)
{
    const uint64_t second_ns = 1000000000u, hour_ns = 3600 * second_ns;
    struct adp_plan plan = { .seed = adp_subject_next(&play->traffic.seed),
                             .presence = play->traffic.plan.presence,
                             .only_end = ADP_DONE,
                             .pending = 1 };
    plan.start_ns = play->traffic.now_ns + days * UINT64_C(86400000000000);
    struct look l = look(play, start, &plan, n, second_ns);
    if (!refuses_most(l))
        return;
    /* Readings that it has learnt to be careful from: now there are none. Then it may be
     * that it learns by the hour. */
    plan.presence = ADP_PRESENCE_NONE;
    for (int hourly = 0; hourly < 2; hourly++) {
        plan.start_ns = play->traffic.now_ns;
        struct look calm = look(play, start, &plan, n, hourly ? hour_ns : second_ns);
        if (calm.there && !refuses_most(calm))
            return;
    }
    adp_trial_fail(play->subject->trial,
                   "%s, %u days later, with no ticket out, it admits %u of %u requests, "
                   "a new instance %u",
                   how, days, l.here, n, l.there);
}

uint32_t adp_play_differ(const struct adp_said *a, const struct adp_said *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!adp_verdict_same(&a[i], &b[i]))
            return i;
    return n;
}
