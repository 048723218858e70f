/* SPDX-License-Identifier: MIT */
/* Generations of a policy that follow one another while a thread decides, as a reload
 * makes them: the next one is made while the one before serves, takes over, and the one
 * before is ended once its last outcome has come.
 *
 * Two generations of the same bytes share their code, two of other bytes do not: both
 * ways are gone. Through the host, from YAML to outcome; its clock is a counter, so that
 * each generation lives through the same times. */
#include "runtime/check/checks.h"

#include "runtime/check/copies.h"
#include "runtime/check/traffic.h"
#include "runtime/host/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GENERATIONS = 6, PROBES = 200, BETWEEN = 600, WAITING = 64 };
#define METRIC "admitperf_check_" /* and a signal's name */

struct generation {
    adp_runtime *rt;
    adp_lane *lane;
    _Atomic uint64_t ticks; /* of its clock */
    struct adp_clock clock;
    uint64_t waiting[WAITING]; /* decisions without an outcome: a ring */
    uint32_t oldest, n_waiting;
    adp_decision probe[PROBES]; /* its first answers */
};

struct reload {
    struct adp_trial *trial;
    const struct adp_subject *subject;
    char copy[GENERATIONS / 2][1200]; /* of the file; two generations of each */
    double param[ADP_MAX_PARAMS];
    struct generation generation[GENERATIONS];
    _Atomic uint32_t offered; /* generations that are made */
    _Atomic uint32_t serving; /* the one that decides, from 1; those before it are idle */
    _Atomic uint32_t decided; /* by it, at least */
    _Atomic bool stop;
};

static uint64_t tick(void *ctx)
{
    struct generation *g = ctx;
    return 1000000000000u + 1000000u * atomic_fetch_add(&g->ticks, 1);
}

static uint64_t meter(void *ctx)
{
    (void)ctx;
    return 0;
}

/* --- the configuration --- */

/* In double quotes, as YAML reads it. */
static void put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void put_param(FILE *to, const struct adp_param *p, double value)
{
    if (p->kind == ADP_BOOL)
        fprintf(to, "    %s: %s\n", p->name, value != 0.0 ? "true" : "false");
    else
        fprintf(to, p->kind == ADP_I64 ? "    %s: %.0f\n" : "    %s: %.17g\n", p->name,
                value);
}

static void put_signals(FILE *to, const struct adp_loaded *loaded)
{
    uint32_t n_shipped;
    const struct adp_signal_def *shipped = adp_dictionary(&n_shipped);
    for (uint32_t i = 0; i < loaded->policy.n_signals; i++) {
        struct adp_signal s = adp_loaded_signal(loaded, i);
        bool is_shipped = false;
        for (uint32_t k = 0; k < n_shipped; k++)
            is_shipped |= strcmp(shipped[k].name, s.name) == 0;
        fprintf(to, "%s  %s:\n", i ? "" : "signals:\n", s.name);
        if (!is_shipped) {
            fprintf(to, "    range: [0, .inf]\n    unit: ");
            put_text(to, s.unit);
            fputc('\n', to);
        }
        fprintf(to, "    sources: [ { metric: " METRIC "%s } ]\n", s.name);
    }
}

static char *make_text(const struct reload *r, const char *path)
{
    const struct adp_loaded *loaded = r->subject->loaded;
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        adp_trial_skip(r->trial, "out of memory");
    fprintf(to, "version: 1\nlog: none\npolicy:\n  use: ");
    put_text(to, path);
    fputc('\n', to);
    if (r->trial->options->config && loaded->policy.flags & ADP_TAKES_CONFIG)
        fprintf(to, "  config: %s\n", r->trial->options->config);
    if (loaded->policy.n_params)
        fprintf(to, "  params:\n");
    for (uint32_t i = 0; i < loaded->policy.n_params; i++) {
        struct adp_param p = adp_loaded_param(loaded, i);
        put_param(to, &p, r->param[i]);
    }
    put_signals(to, loaded);
    if (fclose(to) != 0)
        adp_trial_skip(r->trial, "out of memory");
    return text;
}

static void open_generation(struct reload *r, uint32_t number)
{
    struct generation *g = &r->generation[number - 1];
    struct adp_host_options options = {
        .clock = &g->clock, .no_log = true, .lanes = 1, .ring_kb = 64
    };
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    g->clock = (struct adp_clock) { g, tick, tick, meter };
    char *text = make_text(r, r->copy[(number - 1) / 2]);
    adp_trial_at(r->trial, ADP_CALL_CREATE);
    if (adp_host_open_text(&g->rt, text, "check", "/", &options, &errors) < 0)
        adp_trial_fail(r->trial, "the host does not take generation %u: %s", number,
                       errors.n ? errors.list[0].text : "no reason given");
    free(text);
    adp_errors_free(&errors);
    if (adp_runtime_start(g->rt, &err) < 0 || adp_lane_open(&g->lane, g->rt, &err) < 0)
        adp_trial_skip(r->trial, "the host cannot start: %s", err.text);
}

/* --- traffic --- */

/* A request that follows from `seed`, with its own metrics. */
static adp_decision decide(struct reload *r, struct generation *g, uint64_t *seed)
{
    static const char *const tenants[] = { "acme", "birch", "cobalt", NULL };
    const struct adp_loaded *loaded = r->subject->loaded;
    uint32_t n = loaded->policy.n_signals;
    char name[ADP_MAX_SIGNALS][96], id[32];
    adp_metric metrics[ADP_MAX_SIGNALS];
    adp_decision d = { .size = sizeof d };
    for (uint32_t i = 0; i < n; i++) {
        double hi = r->subject->hi[i], lo = r->subject->lo[i];
        snprintf(name[i], sizeof name[i], METRIC "%s", adp_loaded_signal(loaded, i).name);
        metrics[i] = (adp_metric) { .name = name[i] };
        metrics[i].value = lo + (hi - lo > 1e3 ? 1e2 : hi - lo) * adp_subject_unit(seed);
    }
    snprintf(id, sizeof id, "%016llx", (unsigned long long)adp_subject_next(seed));
    adp_facts facts = { .size = sizeof facts,
                        .present = ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY,
                        .request_id = id,
                        .tenant = tenants[adp_subject_next(seed) % 4],
                        .prompt_tokens = 1 + adp_subject_next(seed) % 4096,
                        .max_output_tokens = 1 + adp_subject_next(seed) % 512,
                        .priority = (int64_t)(adp_subject_next(seed) % 5) - 2 };
    adp_lane_decide_with(g->lane, metrics, n, &facts, &d);
    return d;
}

static void settle_one(struct generation *g, uint64_t *seed)
{
    adp_result result = { .size = sizeof result,
                          .end = ADP_DONE,
                          .ok = -1,
                          .present = ADP_O_TTFT | ADP_O_OUTPUT,
                          .output_tokens = 1 + adp_subject_next(seed) % 256,
                          .ttft_ms = 1000.0 * adp_subject_unit(seed) };
    adp_lane_outcome(g->lane, g->waiting[g->oldest], NULL, &result);
    g->oldest = (g->oldest + 1) % WAITING;
    g->n_waiting--;
}

static void step(struct reload *r, struct generation *g, uint64_t *seed,
                 adp_decision *ret)
{
    adp_decision d = decide(r, g, seed);
    if (g->n_waiting == WAITING)
        settle_one(g, seed);
    if (d.admitted)
        g->waiting[(g->oldest + g->n_waiting++) % WAITING] = d.id;
    if (ret)
        *ret = d;
}

/* The first requests are the same for every generation. */
static void take_over(struct reload *r, struct generation *g)
{
    uint64_t seed = r->trial->seed;
    for (uint32_t i = 0; i < PROBES; i++)
        step(r, g, &seed, &g->probe[i]);
}

static void *serve(void *ctx)
{
    struct reload *r = ctx;
    uint64_t seed = r->trial->seed + 1;
    uint32_t now = 0;
    while (!atomic_load(&r->stop)) {
        if (atomic_load(&r->offered) > now) {
            struct generation *before = now ? &r->generation[now - 1] : NULL;
            take_over(r, &r->generation[now++]);
            while (before && before->n_waiting)
                settle_one(before, &seed);
            atomic_store(&r->decided, 0);
            atomic_store(&r->serving, now);
        }
        if (now)
            step(r, &r->generation[now - 1], &seed, NULL);
        atomic_fetch_add(&r->decided, 1);
    }
    while (now && r->generation[now - 1].n_waiting)
        settle_one(&r->generation[now - 1], &seed);
    return NULL;
}

/* --- the control thread --- */

static void wait_for(const _Atomic uint32_t *what, uint32_t least)
{
    while (atomic_load(what) < least) {
        struct timespec moment = { 0, 200000 };
        nanosleep(&moment, NULL);
    }
}

static void end_generation(struct reload *r, uint32_t number)
{
    struct generation *g = &r->generation[number - 1];
    adp_lane_close(g->lane);
    adp_trial_at(r->trial, ADP_CALL_DESTROY);
    adp_runtime_close(g->rt, NULL);
    adp_trial_at(r->trial, ADP_CALL_DECIDE);
}

static void compare(struct reload *r, uint32_t number)
{
    const adp_decision *a = r->generation[0].probe, *b = r->generation[number - 1].probe;
    for (uint32_t i = 0; i < PROBES; i++)
        if (a[i].policy_action != b[i].policy_action || a[i].reason != b[i].reason ||
            a[i].retry_after_ms != b[i].retry_after_ms)
            adp_trial_fail(r->trial,
                           "on its request %u the first generation said action %u (%s), "
                           "generation %u says %u (%s)",
                           i + 1, a[i].policy_action, a[i].reason ? a[i].reason : "none",
                           number, b[i].policy_action,
                           b[i].reason ? b[i].reason : "none");
}

void adp_check_reloads_under_traffic(struct adp_trial *trial)
{
    struct adp_subject subject;
    struct reload *r = adp_trial_shared(trial, sizeof *r);
    uint64_t seed = trial->seed;
    pthread_t thread;
    for (uint32_t i = 0; i < GENERATIONS / 2; i++)
        adp_copies_write(trial, i + 1, r->copy[i], sizeof r->copy[i]);
    adp_subject_load(&subject, trial, trial->path);
    r->trial = trial;
    r->subject = &subject;
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, r->param);
    if (pthread_create(&thread, NULL, serve, r) != 0)
        adp_trial_skip(trial, "no thread can be made");
    for (uint32_t number = 1; number <= GENERATIONS; number++) {
        adp_trial_doing(trial, "with generation %u of %u", number, GENERATIONS);
        open_generation(r, number);
        atomic_store(&r->offered, number);
        wait_for(&r->serving, number);
        if (number > 1)
            end_generation(r, number - 1);
        wait_for(&r->decided, BETWEEN);
    }
    atomic_store(&r->stop, true);
    pthread_join(thread, NULL);
    end_generation(r, GENERATIONS);
    for (uint32_t number = 2; number <= GENERATIONS; number++)
        compare(r, number);
    adp_trial_note(trial, "%d generations of %d files", GENERATIONS, GENERATIONS / 2);
}
