/* SPDX-License-Identifier: MIT */
/* Reloads of a running host (adp_runtime_reload_text) while a thread decides and settles: new
 * copies of the file, other parameters, state that is carried by save, tickets that are out
 * meanwhile.
 *
 * Asked is what holds for every policy that is in order, with a memory or without:
 *  1. No reload is refused, no decision has a fault, nothing crashes or hangs.
 *  2. Every outcome is taken, no ticket is lost, and when all have come the generations
 *     before are gone.
 *  3. Who carries no state begins as in a host of its own: at the same times the same
 *     requests get the same answers. (That carried state is whole is B11's.)
 *  4. When all is over it admits, years later, a quarter at least of what a new one does:
 *     what was out at a reload is given back.
 *
 * Requests, their times and outcomes follow from their numbers, so that those of any
 * generation can be asked again. The clock stands still between them. */
#include "runtime/check/checks.h"

#include "runtime/check/copies.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"
#include "runtime/host/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GENERATIONS = 6, COPIES = 3, SETS = 2, PROBES = 200, BETWEEN = 600, DELAY = 16 };
#define METRIC "admitperf_check_" /* and a signal's name */
static const uint64_t START_NS = 1000000000000u, STEP_NS = 5000000;

/* A host, its one lane, and what waits there. */
struct scene {
    const struct adp_subject *subject;
    adp_runtime *rt;
    adp_lane *lane;
    struct adp_clock clock;
    _Atomic uint64_t now_ns;
    uint64_t waiting[DELAY]; /* by the request's number: its id; 0: nothing */
    int outcome;             /* the first code of an outcome that was not taken */
};

struct said {
    uint32_t action, retry_after_ms;
    const char *reason; /* or NULL */
};

/* What a generation said first. */
struct debut {
    uint64_t from; /* number of the first request */
    bool unsure;   /* that one may have been the generation's before */
    uint32_t n;
    struct said said[PROBES];
};

struct reload {
    struct adp_trial *trial;
    const struct adp_subject *subject;
    struct scene scene;
    char copy[COPIES][1200];            /* of the file; two generations of each */
    double param[SETS][ADP_MAX_PARAMS]; /* taken in turns */
    struct debut debut[GENERATIONS + 1];
    _Atomic uint64_t serving, decided; /* the generation seen last, and its requests */
    _Atomic bool stop;
    char fault[160]; /* the first, written by the thread that decides */
};

static uint64_t now(void *ctx)
{
    struct scene *s = ctx;
    return atomic_load(&s->now_ns);
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

/* The configuration of a generation, from 1; owned by the caller. */
static char *make_text(const struct reload *r, uint32_t number)
{
    const struct adp_loaded *loaded = r->subject->loaded;
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        adp_trial_lack(r->trial, "out of memory");
    fprintf(to, "version: 1\nlog: none\npolicy:\n  use: ");
    put_text(to, r->copy[(number - 1) / 2 % COPIES]);
    fputc('\n', to);
    if (r->trial->options->config && loaded->policy.flags & ADP_TAKES_CONFIG)
        fprintf(to, "  config: %s\n", r->trial->options->config);
    if (loaded->policy.n_params)
        fprintf(to, "  params:\n");
    for (uint32_t i = 0; i < loaded->policy.n_params; i++) {
        struct adp_param p = adp_loaded_param(loaded, i);
        put_param(to, &p, r->param[number % SETS][i]);
    }
    put_signals(to, loaded);
    if (fclose(to) != 0)
        adp_trial_lack(r->trial, "out of memory");
    return text;
}

static void open_scene(const struct reload *r, struct scene *s, uint32_t number)
{
    struct adp_host_options options = {
        .clock = &s->clock, .no_log = true, .lanes = 1, .ring_kb = 64
    };
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    memset(s, 0, sizeof *s);
    s->subject = r->subject;
    s->clock = (struct adp_clock) { s, now, now, meter };
    atomic_store(&s->now_ns, START_NS);
    char *text = make_text(r, number);
    adp_trial_at(r->trial, ADP_CALL_CREATE);
    if (adp_host_open_text(&s->rt, text, "check", "/", &options, &errors) < 0)
        adp_trial_fail(r->trial, "the host does not take it: %s",
                       errors.n ? errors.list[0].text : "no reason given");
    free(text);
    adp_errors_free(&errors);
    if (adp_runtime_start(s->rt, &err) < 0 || adp_lane_open(&s->lane, s->rt, &err) < 0)
        adp_trial_lack(r->trial, "the host cannot start: %s", err.text);
    adp_trial_at(r->trial, ADP_CALL_DECIDE);
}

static void close_scene(const struct reload *r, struct scene *s)
{
    adp_trial_at(r->trial, ADP_CALL_DESTROY);
    adp_lane_close(s->lane);
    adp_runtime_close(s->rt, NULL);
    adp_trial_at(r->trial, ADP_CALL_DECIDE);
}

/* --- traffic --- */

static uint64_t seed_of(const struct scene *s, uint64_t number)
{
    return s->subject->trial->seed + number * UINT64_C(0x9e3779b97f4a7c15);
}

/* Request `number`, with its own metrics or without any. */
static adp_decision decide(struct scene *s, uint64_t number, bool with_metrics)
{
    static const char *const tenants[] = { "acme", "birch", "cobalt", NULL };
    const struct adp_loaded *loaded = s->subject->loaded;
    uint64_t seed = seed_of(s, number);
    uint32_t n = loaded->policy.n_signals;
    char name[ADP_MAX_SIGNALS][96], id[32];
    adp_metric metrics[ADP_MAX_SIGNALS];
    adp_decision d = { .size = sizeof d };
    for (uint32_t i = 0; i < n; i++) {
        double hi = s->subject->hi[i], lo = s->subject->lo[i];
        snprintf(name[i], sizeof name[i], METRIC "%s", adp_loaded_signal(loaded, i).name);
        metrics[i] = (adp_metric) { .name = name[i] };
        metrics[i].value = lo + (hi - lo > 1e3 ? 1e2 : hi - lo) * adp_subject_unit(&seed);
    }
    snprintf(id, sizeof id, "%016llx", (unsigned long long)adp_subject_next(&seed));
    adp_facts facts = { .size = sizeof facts,
                        .present = ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY,
                        .request_id = id,
                        .tenant = tenants[adp_subject_next(&seed) % 4],
                        .prompt_tokens = 1 + adp_subject_next(&seed) % 4096,
                        .max_output_tokens = 1 + adp_subject_next(&seed) % 512,
                        .priority = (int64_t)(adp_subject_next(&seed) % 5) - 2 };
    adp_lane_decide_with(s->lane, metrics, with_metrics ? n : 0, &facts, &d);
    return d;
}

static void settle(struct scene *s, uint64_t number, uint64_t id)
{
    uint64_t seed = ~seed_of(s, number);
    adp_result result = { .size = sizeof result,
                          .end = ADP_DONE,
                          .ok = -1,
                          .present = ADP_O_TTFT | ADP_O_OUTPUT,
                          .output_tokens = 1 + adp_subject_next(&seed) % 256,
                          .ttft_ms = 1000.0 * adp_subject_unit(&seed) };
    int code = adp_lane_outcome(s->lane, id, NULL, &result);
    if (code < 0 && !s->outcome)
        s->outcome = code;
}

/* The request's turn: the outcome of the one DELAY before it, then its answer. */
static adp_decision step(struct scene *s, uint64_t number)
{
    uint64_t *slot = &s->waiting[number % DELAY];
    atomic_store(&s->now_ns, START_NS + number * STEP_NS);
    if (*slot)
        settle(s, number - DELAY, *slot);
    adp_decision d = decide(s, number, true);
    *slot = d.admitted ? d.id : 0;
    return d;
}

static void settle_all(struct scene *s)
{
    for (uint32_t i = 0; i < DELAY; i++) {
        if (s->waiting[i])
            settle(s, i, s->waiting[i]);
        s->waiting[i] = 0;
    }
}

static uint64_t generation_of(const struct scene *s, uint64_t *ret_alive,
                              uint64_t *ret_lost)
{
    adp_stats stats = { .size = sizeof stats };
    adp_runtime_stats(s->rt, &stats);
    if (ret_alive)
        *ret_alive = stats.generations;
    if (ret_lost)
        *ret_lost = stats.lost_tickets;
    return stats.generation;
}

/* --- the thread that decides --- */

static void note(struct reload *r, uint64_t generation, uint64_t number,
                 const adp_decision *d)
{
    if (d->fault && !r->fault[0])
        snprintf(r->fault, sizeof r->fault, "%s (generation %llu, request %llu)",
                 d->fault, (unsigned long long)generation,
                 (unsigned long long)number + 1);
    if (generation > GENERATIONS)
        return;
    struct debut *debut = &r->debut[generation];
    if (debut->n < PROBES)
        debut->said[debut->n++] =
            (struct said) { d->policy_action, d->retry_after_ms, d->reason };
}

static void *serve(void *ctx)
{
    struct reload *r = ctx;
    uint64_t known = 0;
    for (uint64_t number = 0; !atomic_load(&r->stop); number++) {
        uint64_t before = generation_of(&r->scene, NULL, NULL);
        adp_decision d = step(&r->scene, number);
        uint64_t generation = generation_of(&r->scene, NULL, NULL);
        if (generation != known && generation <= GENERATIONS)
            r->debut[generation] =
                (struct debut) { .from = number, .unsure = before != generation };
        note(r, generation, number, &d);
        if (generation != known) {
            atomic_store(&r->decided, 0);
            atomic_store(&r->serving, generation);
        }
        known = generation;
        atomic_fetch_add(&r->decided, 1);
    }
    settle_all(&r->scene);
    return NULL;
}

/* --- the thread that reloads --- */

static void wait_for(const _Atomic uint64_t *what, uint64_t least)
{
    while (atomic_load(what) < least) {
        struct timespec moment = { 0, 200000 };
        nanosleep(&moment, NULL);
    }
}

static void take_over(struct reload *r, uint32_t number)
{
    adp_errors errors = { 0 };
    char *text = make_text(r, number);
    adp_trial_at(r->trial, ADP_CALL_CREATE);
    if (adp_runtime_reload_text(r->scene.rt, text, "check", &errors) < 0)
        adp_trial_fail(r->trial, "the host does not take generation %u: %s", number,
                       errors.n ? errors.list[0].text : "no reason given");
    adp_trial_at(r->trial, ADP_CALL_DECIDE);
    free(text);
    adp_errors_free(&errors);
}

static void reload_under_traffic(struct reload *r)
{
    pthread_t thread;
    open_scene(r, &r->scene, 1);
    adp_trap_thread(r->trial, &thread, NULL, serve, r);
    for (uint32_t number = 1; number <= GENERATIONS; number++) {
        adp_trial_doing(r->trial, "with generation %u of %u", number, GENERATIONS);
        if (number > 1)
            take_over(r, number);
        wait_for(&r->serving, number);
        wait_for(&r->decided, BETWEEN);
    }
    atomic_store(&r->stop, true);
    pthread_join(thread, NULL);
}

/* --- what is thought of it --- */

static bool is_same(const struct said *a, const struct said *b)
{
    bool reasons = a->reason && b->reason ? strcmp(a->reason, b->reason) == 0
                                          : a->reason == b->reason;
    return a->action == b->action && a->retry_after_ms == b->retry_after_ms && reasons;
}

/* The first place in a debut, from `skip` on, where a host of its own answers otherwise; or
 * its end. */
static uint32_t differ(const struct reload *r, uint32_t number, uint32_t skip,
                       struct said *ret)
{
    const struct debut *debut = &r->debut[number];
    struct scene *own = adp_trial_shared(r->trial, sizeof *own);
    uint32_t at = skip;
    open_scene(r, own, number);
    for (; at < debut->n; at++) {
        adp_decision d = step(own, debut->from + at);
        *ret = (struct said) { d.policy_action, d.retry_after_ms, d.reason };
        if (!is_same(ret, &debut->said[at]))
            break;
    }
    settle_all(own);
    close_scene(r, own);
    return at;
}

static void must_begin_anew(const struct reload *r, uint32_t number)
{
    const struct debut *debut = &r->debut[number];
    struct said own = { 0 };
    uint32_t at = differ(r, number, 0, &own);
    if (at < debut->n && debut->unsure)
        at = differ(r, number, 1, &own);
    if (at == debut->n)
        return;
    const struct said *said = &debut->said[at];
    adp_trial_fail(r->trial,
                   "on its request %u generation %u says action %u (%s), the same in a "
                   "host of its own action %u (%s)",
                   at + 1, number, said->action, said->reason ? said->reason : "none",
                   own.action, own.reason ? own.reason : "none");
}

static void must_be_settled(struct reload *r)
{
    uint64_t alive, lost;
    if (r->fault[0])
        adp_trial_fail(r->trial, "the host cannot use its verdict: %s", r->fault);
    if (r->scene.outcome)
        adp_trial_fail(r->trial, "the host does not take an outcome: error %d",
                       r->scene.outcome);
    take_over(r, GENERATIONS + 1); /* with it go those that nobody waits for */
    generation_of(&r->scene, &alive, &lost);
    if (alive != 1 || lost)
        adp_trial_fail(r->trial,
                       "all outcomes have come, and %llu generations are there still, "
                       "%llu tickets are lost",
                       (unsigned long long)alive, (unsigned long long)lost);
}

/* So many of n requests, `step_ns` apart, each over before the next. */
static uint32_t count_admitted(struct scene *s, uint64_t from_ns, uint64_t step_ns,
                               bool with_metrics, uint32_t n)
{
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < n; i++) {
        atomic_store(&s->now_ns, from_ns + i * step_ns);
        adp_decision d = decide(s, i, with_metrics);
        admitted += d.admitted;
        if (d.admitted)
            settle(s, i, d.id);
    }
    return admitted;
}

/* Of REQUESTS: how many it admits, and how many a new one does. */
struct look {
    uint32_t here, there;
};

static bool refuses_most(struct look l)
{
    enum { LEAST = 8, SHARE = 4 };
    return l.there >= LEAST && l.here < l.there / SHARE;
}

/* As adp_play_must_recover: who refuses most is asked without readings, then by the hour. */
static void must_recover(struct reload *r)
{
    enum { REQUESTS = 300 };
    const uint64_t second_ns = 1000000000u, years_ns = 10 * 365 * 86400 * second_ns;
    static const struct {
        uint64_t step_s;
        bool with_metrics;
    } rows[] = { { 1, true }, { 1, false }, { 3600, false } };
    enum { N_ROWS = sizeof rows / sizeof rows[0] };
    struct look first = { 0 };
    struct scene *fresh = adp_trial_shared(r->trial, sizeof *fresh);
    bool recovers = false;
    open_scene(r, fresh, GENERATIONS + 1);
    for (uint32_t i = 0; i < N_ROWS && !recovers; i++) {
        uint64_t from_ns = (i + 1) * years_ns, step_ns = rows[i].step_s * second_ns;
        bool with = rows[i].with_metrics;
        struct look l = { count_admitted(&r->scene, from_ns, step_ns, with, REQUESTS),
                          count_admitted(fresh, from_ns, step_ns, with, REQUESTS) };
        first = i ? first : l;
        recovers = !refuses_most(l) && (!i || l.there);
    }
    close_scene(r, fresh);
    if (!recovers && !r->subject->policy->outcome)
        adp_trial_mend(r->trial, ADP_MEND_LET_GO); /* no ticket holds anything */
    if (!recovers)
        adp_trial_fail(
            r->trial,
            "after %d reloads, when all outcomes have come, ten years later, it "
            "admits %u of %d requests, a new instance %u",
            GENERATIONS, first.here, REQUESTS, first.there);
}

/* Two sets of which create refuses neither; others, if there are any. */
static void choose_params(struct reload *r, const struct adp_subject *subject)
{
    enum { TRIES = 32 };
    uint64_t seed = r->trial->seed;
    size_t bytes = subject->policy->n_params * sizeof r->param[0][0];
    adp_subject_params(subject, ADP_VALUES_TYPICAL, &seed, r->param[1]);
    for (int i = 0; i < TRIES && subject->policy->n_params; i++) {
        struct adp_start start = { .param = r->param[0] };
        adp_subject_params(subject, ADP_VALUES_RANDOM, &seed, r->param[0]);
        if (adp_subject_takes(subject, &start) &&
            memcmp(r->param[0], r->param[1], bytes) != 0)
            return;
    }
    memcpy(r->param[0], r->param[1], sizeof r->param[0]);
}

void adp_check_reloads_under_traffic(struct adp_trial *trial)
{
    struct adp_subject subject;
    struct reload *r = adp_trial_shared(trial, sizeof *r);
    r->trial = trial;
    adp_trap_must_make(trial);
    for (uint32_t i = 0; i < COPIES; i++)
        adp_copies_write(trial, i + 1, r->copy[i], sizeof r->copy[i]);
    adp_subject_load(&subject, trial, trial->path);
    r->subject = &subject;
    choose_params(r, &subject);
    reload_under_traffic(r);
    adp_trial_doing(trial, "when all is over");
    must_be_settled(r);
    for (uint32_t number = 2; number <= GENERATIONS && !subject.policy->save; number++)
        must_begin_anew(r, number);
    must_recover(r);
    close_scene(r, &r->scene);
    adp_trial_note(trial, "%d reloads, %d files%s", GENERATIONS, COPIES,
                   subject.policy->save ? ", its state carried" : "");
}
