/* SPDX-License-Identifier: MIT */
/* A stage for one policy, as the loader gives it: views made by hand, a clock moved by
 * hand, and a reload whenever a test wants one.
 *
 * Slots and facts that are absent hold garbage, another one in each view. Whatever is asked,
 * stage_ask holds the answer against what every verdict must keep.
 *
 * Two ways to tell the time: stage_ask and stage_end take it with each call; stage_now and
 * stage_outcome go by the stage's own clock, which stage_at sets. */
#ifndef ADP_TESTS_PLUGINS_STAGE_H
#define ADP_TESTS_PLUGINS_STAGE_H

#include "runtime/host/host.h"
#include "runtime/loader/loader.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT NAN

#define SECOND UINT64_C(1000000000)

enum { STAGE_SIGNALS = 4, STAGE_ENGINES = 4, STAGE_SAVED = 1 << 20 };

struct stage {
    struct adp_loaded *loaded;
    void *self;
    uint32_t n_instances;
    unsigned asked; /* views made */
    double param[ADP_MAX_PARAMS];
    double signal[STAGE_SIGNALS]; /* ABSENT where there is none */
    double engine[STAGE_ENGINES][STAGE_SIGNALS];
    uint32_t n_engines;
    double draw;
    adp_request request; /* what is absent is filled with garbage when asked */
    adp_verdict verdict; /* the last */
    uint64_t now_ns;     /* the stage's own clock */
    char error[256];     /* what create said */
};

/* Whether there is an instance now; the one before must be gone. */
static inline bool stage_try(struct stage *s, const void *saved, uint64_t saved_len)
{
    const adp_setup setup = { .size = sizeof setup,
                              .n_instances = s->n_instances,
                              .param = s->param,
                              .saved = saved,
                              .saved_len = saved_len,
                              .error = s->error,
                              .error_cap = sizeof s->error };
    s->error[0] = '\0';
    s->self = s->loaded->policy.create(&setup);
    return s->self != NULL;
}

static inline void stage_create(struct stage *s, const void *saved, uint64_t saved_len)
{
    ck_assert_msg(stage_try(s, saved, saved_len), "%s", s->error);
}

/* A new instance in the place of the one before. */
static inline void stage_restart(struct stage *s, const void *saved, uint64_t saved_len)
{
    s->loaded->policy.destroy(s->self);
    stage_create(s, saved, saved_len);
}

/* Loads NAME and gives its parameters their defaults; required ones are still to be set. */
static inline void stage_open(struct stage *s, const char *name)
{
    char path[1024];
    struct adp_error err = { 0 };
    *s = (struct stage) { .n_instances = 1,
                          .now_ns = 1000 * SECOND,
                          .request = { .size = sizeof s->request } };
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    int r = adp_loader_find(name, NULL, path, sizeof path, &err);
    if (r == 0)
        r = adp_loader_load(&s->loaded, path, NULL, &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    for (uint32_t i = 0; i < s->loaded->policy.n_params; i++)
        s->param[i] = adp_loaded_param(s->loaded, i).dflt;
    for (unsigned i = 0; i < STAGE_SIGNALS; i++)
        s->signal[i] = ABSENT;
}

static inline void stage_set(struct stage *s, const char *param, double value)
{
    for (uint32_t i = 0; i < s->loaded->policy.n_params; i++) {
        struct adp_param p = adp_loaded_param(s->loaded, i);
        if (strcmp(p.name, param) != 0)
            continue;
        ck_assert_msg(value >= p.lo && value <= p.hi, "%s out of its range", param);
        s->param[i] = value;
        return;
    }
    ck_abort_msg("no parameter %s", param);
}

static inline uint32_t stage_slot(const struct stage *s, const char *signal)
{
    for (uint32_t i = 0; i < s->loaded->policy.n_signals; i++)
        if (!strcmp(adp_loaded_signal(s->loaded, i).name, signal))
            return i;
    ck_abort_msg("no signal %s", signal);
}

static inline void stage_signal(struct stage *s, const char *signal, double value)
{
    s->signal[stage_slot(s, signal)] = value;
}

/* A reading of engine `r`; from the first one on there are readings per engine. */
static inline void stage_engine(struct stage *s, uint32_t r, const char *signal,
                                double value)
{
    for (; s->n_engines <= r; s->n_engines++)
        for (unsigned i = 0; i < STAGE_SIGNALS; i++)
            s->engine[s->n_engines][i] = ABSENT;
    s->engine[r][stage_slot(s, signal)] = value;
}

static inline void stage_priority(struct stage *s, int64_t priority)
{
    s->request.priority = priority;
    s->request.present |= ADP_PRIORITY;
}

static inline void stage_tokens(struct stage *s, uint64_t prompt, uint64_t output)
{
    s->request.prompt_tokens = prompt;
    s->request.max_output_tokens = output;
    s->request.present |= ADP_PROMPT | ADP_OUTPUT;
}

static inline void stage_tenant(struct stage *s, const char *tenant)
{
    s->request.tenant = tenant;
    s->request.tenant_key = 0;
    for (; tenant && *tenant; tenant++)
        s->request.tenant_key = s->request.tenant_key * 31u + (unsigned char)*tenant;
}

/* What an absent slot may hold: none of it may change an answer. */
static inline double stage_garbage(unsigned n)
{
    static const double garbage[] = { 0.0, 1.0, -1.0, NAN, INFINITY, 1e308, 5e-324 };
    return garbage[n % (sizeof garbage / sizeof garbage[0])];
}

static inline uint64_t stage_fill(struct stage *s, const double *from, double *to)
{
    uint64_t present = 0;
    for (uint32_t i = 0; i < s->loaded->policy.n_signals; i++) {
        to[i] = isnan(from[i]) ? stage_garbage(s->asked + i) : from[i];
        present |= (uint64_t)!isnan(from[i]) << i;
    }
    return present;
}

static inline void stage_fill_facts(struct stage *s, adp_request *r)
{
    uint64_t garbage = s->asked % 2 ? UINT64_MAX : s->asked;
    if (!(r->present & ADP_PROMPT))
        r->prompt_tokens = garbage;
    if (!(r->present & ADP_OUTPUT))
        r->max_output_tokens = garbage;
    if (!(r->present & ADP_PRIORITY))
        r->priority = -(int64_t)(garbage / 2);
    if (!(r->present & ADP_DEADLINE))
        r->ttft_deadline_ms = stage_garbage(s->asked);
    if (!r->tenant)
        r->tenant_key = garbage;
    if (!r->session)
        r->session_key = garbage;
}

/* Check writes down every assertion that holds; over millions of them only failures are. */
#define STAGE_KEEPS(c)                                                                   \
    do {                                                                                 \
        if (!(c))                                                                        \
            ck_abort_msg("%s", #c);                                                      \
    } while (0)

static inline void stage_check(const struct stage *s)
{
    const adp_verdict *w = &s->verdict;
    const struct adp_policy *p = &s->loaded->policy;
    bool admits = w->action == ADP_ADMIT, has_margin = w->set & ADP_SET_MARGIN;
    STAGE_KEEPS(w->action >= ADP_ADMIT && w->action <= ADP_DEFER);
    STAGE_KEEPS(admits ? w->reason == 0
                       : w->reason > 0 && w->reason <= ADP_R_REQUEST_TOO_LARGE);
    STAGE_KEEPS(w->binding == ADP_NONE || (!admits && w->binding < p->n_signals));
    STAGE_KEEPS(!(w->set & ~(uint32_t)(ADP_SET_MARGIN | ADP_SET_P | ADP_SET_RETRY)));
    STAGE_KEEPS(!has_margin || (isfinite(w->margin) && (w->margin >= 0.0) == !admits));
    STAGE_KEEPS(has_margin || admits);
    STAGE_KEEPS(!(w->set & ADP_SET_P) || (w->p >= 0.0 && w->p <= 1.0));
    STAGE_KEEPS(!(w->set & ADP_SET_RETRY) || (!admits && w->retry_after_ms > 0));
    STAGE_KEEPS(w->ticket == 0 || p->outcome);
}

static inline const adp_verdict *stage_ask_ns(struct stage *s, uint64_t now_ns)
{
    double signal[STAGE_SIGNALS], engine[STAGE_ENGINES * STAGE_SIGNALS];
    uint64_t engine_present[STAGE_ENGINES];
    uint32_t n = s->loaded->policy.n_signals;
    adp_request request = s->request;
    stage_fill_facts(s, &request);
    adp_view view = { .size = sizeof view,
                      .now_ns = now_ns,
                      .draw = s->draw,
                      .signal = signal,
                      .param = s->param,
                      .n_replicas = s->n_engines,
                      .replica = s->n_engines ? engine : NULL,
                      .replica_present = s->n_engines ? engine_present : NULL,
                      .request = &request };
    view.present = stage_fill(s, s->signal, signal);
    for (uint32_t r = 0; r < s->n_engines; r++)
        engine_present[r] = stage_fill(s, s->engine[r], engine + r * n);
    s->verdict = (adp_verdict) { .size = sizeof s->verdict, .binding = ADP_NONE };
    s->loaded->policy.decide(s->self, &view, &s->verdict);
    s->asked++;
    stage_check(s);
    return &s->verdict;
}

static inline const adp_verdict *stage_ask(struct stage *s, uint64_t now_ms)
{
    return stage_ask_ns(s, now_ms * 1000000u);
}

/* The outcome of a ticket; -1 where nothing was measured. */
static inline void stage_end(struct stage *s, uint64_t ticket, uint32_t kind,
                             int64_t prompt, int64_t output, uint64_t now_ms)
{
    const adp_outcome o = { .size = sizeof o,
                            .kind = kind,
                            .present = (prompt >= 0 ? ADP_O_PROMPT : 0u) |
                                       (output >= 0 ? ADP_O_OUTPUT : 0u),
                            .ticket = ticket,
                            .now_ns = now_ms * 1000000u,
                            .prompt_tokens = (uint64_t)prompt,
                            .output_tokens = (uint64_t)output };
    s->loaded->policy.outcome(s->self, &o);
}

/* The stage's own clock, in milliseconds from where it began. */
static inline void stage_at(struct stage *s, uint64_t ms)
{
    s->now_ns = 1000 * SECOND + ms * 1000000u;
}

static inline adp_verdict stage_now(struct stage *s)
{
    return *stage_ask_ns(s, s->now_ns);
}

/* The outcome of a ticket, by the stage's own clock. */
static inline void stage_outcome(struct stage *s, const adp_outcome *like,
                                 uint64_t ticket)
{
    adp_outcome o = *like;
    o.size = sizeof o;
    o.ticket = ticket;
    o.now_ns = s->now_ns;
    s->loaded->policy.outcome(s->self, &o);
}

static inline void stage_over(struct stage *s, uint32_t kind, uint64_t ticket)
{
    const adp_outcome o = { .kind = kind };
    stage_outcome(s, &o, ticket);
}

static inline uint64_t stage_save(const struct stage *s, unsigned char to[STAGE_SAVED])
{
    const struct adp_policy *p = &s->loaded->policy;
    ck_assert_uint_le(p->max_saved, STAGE_SAVED);
    uint64_t len = p->save(s->self, to, p->max_saved);
    ck_assert_uint_gt(len, 0);
    return len;
}

/* Saves and puts a new instance in the place of the old, as a reload does. What is saved
 * must fit in max_saved, and nothing is saved where there is less room than it takes. */
static inline void stage_reload(struct stage *s)
{
    static unsigned char saved[STAGE_SAVED];
    const struct adp_policy *p = &s->loaded->policy;
    ck_assert_uint_le(p->max_saved, sizeof saved);
    uint64_t len = p->save(s->self, saved, p->max_saved);
    STAGE_KEEPS(len > 0 && len <= p->max_saved);
    for (uint64_t cap = len > 2048 ? len - 1 : 0; cap < len; cap++) {
        saved[cap] = 0xa5; /* nothing is written beyond what there is room for */
        STAGE_KEEPS(p->save(s->self, saved, cap) == 0 && saved[cap] == 0xa5);
    }
    STAGE_KEEPS(p->save(s->self, saved, len) == len);
    p->destroy(s->self);
    stage_create(s, saved, len);
}

static inline void stage_close(struct stage *s)
{
    s->loaded->policy.destroy(s->self);
    adp_loaded_destroy(s->loaded);
}

/* Restoring from what is not whole must be a fresh start: the same state as without. Leaves
 * such an instance. */
static inline void stage_spoilt(struct stage *s)
{
    static unsigned char saved[STAGE_SAVED], bad[STAGE_SAVED];
    const struct adp_policy *p = &s->loaded->policy;
    uint64_t len = p->save(s->self, saved, p->max_saved);
    static unsigned char fresh[STAGE_SAVED], again[STAGE_SAVED];
    p->destroy(s->self);
    stage_create(s, NULL, 0);
    uint64_t fresh_len = p->save(s->self, fresh, sizeof fresh);
    ck_assert_uint_gt(fresh_len, 0);
    /* Cut short, another bit in each byte of the head and in some of the body, anything. */
    uint64_t lens[] = { 0, 1, 23, 24, len / 2, len - 1 };
    const unsigned n = sizeof lens / sizeof lens[0];
    for (unsigned i = 0; i <= n + 100; i++) {
        memcpy(bad, saved, len);
        if (i > n)
            bad[i - n < 32 ? i - n - 1 : i * 7919u % len] ^= (unsigned char)(1u << i % 8);
        for (uint64_t k = 0; i == n && k < len; k++)
            bad[k] = (unsigned char)(k * 2654435761u >> 8);
        p->destroy(s->self);
        stage_create(s, bad, i < n ? lens[i] : len);
        STAGE_KEEPS(p->save(s->self, again, sizeof again) == fresh_len);
        STAGE_KEEPS(memcmp(again, fresh, fresh_len) == 0);
    }
}

/* `teach` brings a fresh instance to where, after a reload, `ask` says `taught`; a fresh one
 * would say `fresh`, and so does one restored from what is not whole. */
static inline void stage_believes(struct stage *s, void (*teach)(struct stage *),
                                  double (*ask)(struct stage *), double taught,
                                  double fresh)
{
    stage_restart(s, NULL, 0);
    teach(s);
    stage_reload(s);
    ck_assert_double_eq(ask(s), taught);
    stage_restart(s, NULL, 0);
    ck_assert_double_eq(ask(s), fresh);
    stage_restart(s, NULL, 0);
    teach(s);
    stage_spoilt(s);
}

static inline uint64_t stage_random(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

/* Whatever times, readings, requests, outcomes and reloads come, in whatever order: each
 * decision keeps what stage_check asks. */
static inline void stage_storm(struct stage *s)
{
    /* A reading is finite, the host sees to it; what a gateway measured may not be. */
    static const double odd[] = { 0.0, 1e-300, 0.1,  1.0,      6.0,      500.0,
                                  1e6, 1e300,  -1.0, INFINITY, -INFINITY };
    enum { TIMES = 8, FINITE = 9, ALL = 11 };
    uint64_t seed = 7, ticket[64] = { 0 };
    for (int i = 0; i < 50000; i++) {
        s->now_ns += stage_random(&seed, 50) * 1000000u;
        if (stage_random(&seed, 500) == 0)
            s->now_ns = stage_random(&seed, UINT64_C(1) << 31) << stage_random(&seed, 33);
        if (stage_random(&seed, 20) == 0)
            s->now_ns -= s->now_ns > SECOND ? stage_random(&seed, SECOND) : 0;
        for (unsigned k = 0; k < STAGE_SIGNALS; k++)
            s->signal[k] =
                stage_random(&seed, 8) ? odd[stage_random(&seed, FINITE)] : ABSENT;
        s->draw = (double)stage_random(&seed, UINT64_C(1) << 30) * 0x1p-30;
        s->request.present = (uint32_t)stage_random(&seed, 16);
        s->request.priority = (int64_t)stage_random(&seed, 40) - 20;
        s->request.prompt_tokens = stage_random(&seed, UINT64_C(1) << 31)
                                   << stage_random(&seed, 33);
        s->request.ttft_deadline_ms = odd[stage_random(&seed, TIMES)];
        stage_tenant(s, stage_random(&seed, 2) ? "t" : NULL);
        uint64_t *held = &ticket[stage_random(&seed, 64)];
        if (*held) {
            const adp_outcome o = { .kind = 1 + (uint32_t)stage_random(&seed, 5),
                                    .present = (uint32_t)stage_random(&seed, 32),
                                    .http_status = (uint32_t)stage_random(&seed, 700),
                                    .ttft_ms = odd[stage_random(&seed, ALL)],
                                    .total_ms = odd[stage_random(&seed, ALL)] };
            stage_outcome(s, &o, *held);
        }
        *held = stage_now(s).ticket;
        if (i % 5000 == 4999)
            stage_reload(s);
    }
}

/* What a policy declares: a row per parameter with its source's default (NAN: required),
 * and the card's words. For policies that state a margin in place of gates. */
struct stage_param {
    const char *name, *unit;
    double value;
};

static inline void stage_declares(const struct stage *s, const struct stage_param *want,
                                  uint32_t n, const char *structure, const char *quantity)
{
    ck_assert_uint_eq(s->loaded->policy.n_params, n);
    for (uint32_t i = 0; i < n; i++) {
        struct adp_param p = adp_loaded_param(s->loaded, i);
        ck_assert_str_eq(p.name, want[i].name);
        ck_assert_str_eq(p.unit, want[i].unit);
        ck_assert_ptr_nonnull(p.doc);
        ck_assert(!!(p.flags & ADP_REQUIRED) == isnan(want[i].value));
        if (!isnan(want[i].value))
            ck_assert_double_eq(p.dflt, want[i].value);
    }
    const struct adp_card card = adp_loaded_card(s->loaded);
    ck_assert_str_eq(card.signal_structure, structure);
    ck_assert_str_eq(card.signal_quantity, quantity);
    ck_assert_ptr_nonnull(card.source);
    ck_assert_ptr_nonnull(card.margin_unit);
    ck_assert_uint_eq(s->loaded->policy.n_gates, 0);
}

/* The page of a policy: who is _inspired says what was substituted; at most 60 lines, every parameter in a table row with its default,
 * and an example that a runtime opens. */
static inline void stage_page(const struct stage *s)
{
    static char page[16384], yaml[4096];
    char path[512], row[256], error[1024] = "";
    snprintf(path, sizeof path, "%s/docs/policies/%s.md", SRCDIR, s->loaded->policy.name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "no %s", path);
    page[fread(page, 1, sizeof page - 1, f)] = '\0';
    fclose(f);
    unsigned lines = 0;
    for (const char *c = page; *c; c++)
        lines += *c == '\n';
    ck_assert_uint_le(lines, 60);
    bool inspired = strstr(s->loaded->policy.name, "_inspired") != NULL;
    ck_assert(inspired == (strstr(page, "**Substituted") != NULL));
    for (uint32_t i = 0; i < s->loaded->policy.n_params; i++) {
        struct adp_param p = adp_loaded_param(s->loaded, i);
        const char *unit = *p.unit ? p.unit : "–";
        if (p.flags & ADP_REQUIRED)
            snprintf(row, sizeof row, "| `%s` | %s | required |", p.name, unit);
        else if (p.kind == ADP_BOOL)
            snprintf(row, sizeof row, "| `%s` | %s | %s |", p.name, unit,
                     p.dflt != 0.0 ? "true" : "false");
        else
            snprintf(row, sizeof row, "| `%s` | %s | %g |", p.name, unit, p.dflt);
        ck_assert_msg(strstr(page, row) != NULL, "%s has no row \"%s\"", path, row);
    }
    char *from = strstr(page, "```yaml\n"), *to = from ? strstr(from + 8, "```") : NULL;
    ck_assert_msg(to != NULL, "%s has no example", path);
    snprintf(yaml, sizeof yaml, "%.*s", (int)(to - from - 8), from + 8);
    const struct adp_host_options options = { .no_log = true };
    adp_runtime *rt = NULL;
    adp_errors errors = { 0 };
    if (adp_host_open_text(&rt, yaml, path, ".", &options, &errors) < 0)
        adp_error_print(&errors.list[0], error, sizeof error);
    adp_errors_free(&errors);
    ck_assert_msg(rt != NULL, "%s", error);
    adp_runtime_close(rt, NULL);
}

#define STAGE_N(a) (int)(sizeof(a) / sizeof((a)[0]))

static inline int stage_run(Suite *suite)
{
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
