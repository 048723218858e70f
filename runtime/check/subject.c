/* SPDX-License-Identifier: MIT */
/* The policy under check (runtime/check/subject.h). */
#include "runtime/check/subject.h"

#include "runtime/check/timing.h"
#include "runtime/check/trap.h"
#include "runtime/host/params.h"

#include <math.h>
#include <string.h>

static const uint64_t MAX_AGE_NS = 5000000000u; /* as most of the dictionary's signals */

int adp_subject_signals(struct adp_signals **ret, const struct adp_loaded *loaded,
                        struct adp_error *err)
{
    struct adp_signals *set;
    int r = adp_signals_create(&set, err);
    for (uint32_t i = 0; r == 0 && i < loaded->policy.n_signals; i++) {
        struct adp_signal s = adp_loaded_signal(loaded, i);
        uint32_t index;
        if (adp_signals_find(set, s.name) < 0)
            r = adp_signals_add(set, s.name, s.unit, 0.0, INFINITY, MAX_AGE_NS, &index,
                                err);
        if (r < 0)
            adp_signals_destroy(set);
    }
    if (r == 0)
        *ret = set;
    return r;
}

/* A range that spans orders of magnitude is searched by orders of magnitude: the middle
 * of [0, 1e9] waiting requests is a threshold that nothing reaches. */
static double inside(const struct adp_param *p, double unit)
{
    double span = p->hi - p->lo;
    double at = span <= 1000.0 ? span * unit : expm1(unit * log1p(span));
    double value = p->lo + at;
    if (p->kind != ADP_F64)
        value = floor(value) + (p->kind == ADP_I64 && floor(value) <= p->lo ? 1.0 : 0.0);
    if (p->kind == ADP_BOOL)
        value = unit < 0.5 ? p->lo : p->hi;
    return value > p->hi ? p->hi : value;
}

/* What was given, held against the schema as a host does; where nothing was, as though a
 * number well inside had been. */
static void take_given(struct adp_subject *subject)
{
    const struct adp_policy_setting *given = subject->trial->options->given;
    struct adp_param_setting all[2 * ADP_MAX_PARAMS];
    struct adp_policy_setting setting = { .params = all };
    struct adp_errors errors = { 0 };
    struct adp_params params;
    uint32_t n = given ? given->n_params : 0;
    if (n)
        memcpy(all, given->params, n * sizeof all[0]);
    setting.n_params = n;
    for (uint32_t i = 0; i < subject->policy->n_params; i++) {
        struct adp_param p = adp_loaded_param(subject->loaded, i);
        for (uint32_t k = 0; k < n; k++)
            subject->given[i] |= strcmp(all[k].name, p.name) == 0;
        if (p.flags & ADP_REQUIRED && !subject->given[i])
            all[setting.n_params++] = (struct adp_param_setting) {
                .name = p.name,
                .type = p.kind == ADP_BOOL ? ADP_PARAM_BOOL : ADP_PARAM_NUMBER,
                .written = "",
                .value = inside(&p, 0.5)
            };
    }
    if (!adp_params_resolve(&setting, subject->loaded, "", &params, &errors)) {
        subject->trial->slate->misused = 1;
        adp_trial_fail(subject->trial, "%s", errors.n ? errors.list[0].text : "");
    }
    memcpy(subject->usual, params.value, sizeof params.value);
    adp_errors_free(&errors);
}

void adp_subject_load(struct adp_subject *ret, struct adp_trial *trial, const char *path)
{
    struct adp_error err = { 0 };
    struct adp_signals *set;
    *ret = (struct adp_subject) { .trial = trial };
    adp_trial_at(trial, ADP_CALL_LOAD);
    adp_trap_fence(trial);
    bool own = strcmp(path, trial->path) == 0;
    if (adp_loader_load(&ret->loaded, path, own ? trial->sha256 : NULL, &err) < 0)
        adp_trial_fail(trial, "it cannot be loaded: %s", err.text);
    ret->policy = &ret->loaded->policy;
    int r = adp_subject_signals(&set, ret->loaded, &err);
    if (r < 0) {
        adp_trial_spoils(trial);
        if (r == ADP_EFULL)
            adp_trial_mend(trial, ADP_MEND_FEWER_SIGNALS);
        adp_trial_fail(trial, "its signals cannot be declared: %s", err.text);
    }
    for (uint32_t i = 0; i < ret->policy->n_signals; i++) {
        int known = adp_signals_find(set, adp_loaded_signal(ret->loaded, i).name);
        adp_signals_range(set, (uint32_t)known, &ret->lo[i], &ret->hi[i]);
    }
    adp_signals_destroy(set);
    take_given(ret);
    adp_trial_at(trial, ADP_CALL_NONE);
}

/* --- numbers --- */

uint64_t adp_subject_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double adp_subject_unit(uint64_t *seed)
{
    return (double)(adp_subject_next(seed) >> 11) * 0x1p-53;
}

/* --- parameters --- */

void adp_subject_params(const struct adp_subject *subject, enum adp_values values,
                        uint64_t *seed, double ret[ADP_MAX_PARAMS])
{
    for (uint32_t i = 0; i < subject->policy->n_params; i++) {
        struct adp_param p = adp_loaded_param(subject->loaded, i);
        bool has_none = p.flags & ADP_REQUIRED && !subject->given[i];
        bool other =
            values == ADP_VALUES_RANDOM && (has_none || adp_subject_next(seed) & 1);
        ret[i] =
            other ? inside(&p, 0.02 + 0.96 * adp_subject_unit(seed)) : subject->usual[i];
    }
}

uint32_t adp_subject_sets(const struct adp_subject *subject)
{
    return 1 + 2 * subject->policy->n_params;
}

bool adp_subject_set(const struct adp_subject *subject, uint32_t which,
                     double ret[ADP_MAX_PARAMS])
{
    const double LOW = 0.15, HIGH = 0.85;
    uint32_t i = which ? (which - 1) / 2 : 0;
    double value = subject->usual[i];
    if (which) {
        struct adp_param p = adp_loaded_param(subject->loaded, i);
        value = inside(&p, which % 2 ? LOW : HIGH);
        if (value == subject->usual[i])
            return false;
    }
    memcpy(ret, subject->usual, sizeof subject->usual);
    ret[i] = value;
    return true;
}

/* --- calls --- */

static double create_ms; /* of this process's creates */

void adp_subject_create(struct adp_instance *ret, const struct adp_subject *subject,
                        const struct adp_start *start)
{
    struct adp_setup setup = {
        .size = sizeof setup,
        .n_instances = start->n_instances ? start->n_instances : 1,
        .param = start->param,
        .config = subject->policy->flags & ADP_TAKES_CONFIG
                      ? subject->trial->options->config
                      : NULL,
        .saved = start->saved,
        .saved_len = start->saved_len,
        .error = ret->error,
        .error_cap = sizeof ret->error,
    };
    ret->self = NULL;
    ret->made = true;
    memset(ret->error, 0, sizeof ret->error);
    if (!subject->policy->create)
        return;
    adp_trial_at(subject->trial, ADP_CALL_CREATE);
    double from_ms = adp_timing_ms(CLOCK_MONOTONIC);
    ret->self = subject->calls.create ? subject->calls.create(subject->policy, &setup)
                                      : subject->policy->create(&setup);
    adp_trial_at(subject->trial, ADP_CALL_NONE);
    create_ms += adp_timing_ms(CLOCK_MONOTONIC) - from_ms;
    subject->trial->slate->creates++;
    subject->trial->slate->create_ms = (uint32_t)create_ms;
    ret->error[sizeof ret->error - 1] = '\0';
    ret->made = ret->self != NULL;
}

/* Not every pair of values within bounds makes sense, and what an operator has to give cannot
 * be guessed; but a policy takes its own defaults. */
static enum adp_mend mend_of_refusal(const struct adp_subject *subject)
{
    if (subject->policy->flags & ADP_TAKES_CONFIG && !subject->trial->options->config)
        return ADP_MEND_GIVE_CONFIG;
    for (uint32_t i = 0; i < subject->policy->n_params; i++)
        if (subject->given[i] ||
            adp_loaded_param(subject->loaded, i).flags & ADP_REQUIRED)
            return ADP_MEND_GIVE_PARAMETERS;
    return ADP_MEND_TAKE_DEFAULTS;
}

void adp_subject_must_create(struct adp_instance *ret, const struct adp_subject *subject,
                             const struct adp_start *start)
{
    static const char hint[] = "; what `config:` would hold is given with --config";
    adp_subject_create(ret, subject, start);
    if (ret->made)
        return;
    bool wants =
        subject->policy->flags & ADP_TAKES_CONFIG && !subject->trial->options->config;
    adp_trial_spoils(subject->trial);
    if (!start->saved)
        adp_trial_mend(subject->trial, mend_of_refusal(subject));
    adp_trial_fail(subject->trial, "create refused parameters within their bounds%s%s%s",
                   ret->error[0] ? ": " : ", without a word", ret->error,
                   wants ? hint : "");
}

void adp_subject_destroy(const struct adp_subject *subject, struct adp_instance *i)
{
    if (!i->self || !subject->policy->destroy)
        return;
    adp_trial_at(subject->trial, ADP_CALL_DESTROY);
    subject->policy->destroy(i->self);
    adp_trial_at(subject->trial, ADP_CALL_NONE);
    *i = (struct adp_instance) { 0 };
}

bool adp_subject_takes(const struct adp_subject *subject, const struct adp_start *start)
{
    struct adp_instance probe;
    adp_subject_create(&probe, subject, start);
    bool made = probe.made;
    adp_subject_destroy(subject, &probe);
    return made;
}

void adp_subject_decide(const struct adp_subject *subject,
                        const struct adp_instance *instance, const struct adp_view *view,
                        struct adp_answer *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->verdict.size = sizeof ret->verdict;
    ret->verdict.binding = ADP_NONE;
    struct adp_slate *slate = subject->trial->slate;
    uint32_t number = atomic_load_explicit(&slate->view, memory_order_relaxed) + 1;
    atomic_store_explicit(&slate->view, number, memory_order_relaxed);
    adp_trial_at(subject->trial, ADP_CALL_DECIDE);
    if (subject->calls.decide)
        subject->calls.decide(subject->policy, instance->self, view, &ret->verdict);
    else
        subject->policy->decide(instance->self, view, &ret->verdict);
    adp_trial_at(subject->trial, ADP_CALL_NONE);
}

void adp_subject_outcome(const struct adp_subject *subject,
                         const struct adp_instance *instance,
                         const struct adp_outcome *outcome)
{
    if (!subject->policy->outcome)
        return;
    adp_trial_at(subject->trial, ADP_CALL_OUTCOME);
    if (subject->calls.outcome)
        subject->calls.outcome(subject->policy, instance->self, outcome);
    else
        subject->policy->outcome(instance->self, outcome);
    adp_trial_at(subject->trial, ADP_CALL_NONE);
}

void adp_subject_settle(const struct adp_subject *subject,
                        const struct adp_instance *instance, uint64_t ticket,
                        uint32_t end, uint64_t now_ns)
{
    struct adp_outcome o = {
        .size = sizeof o, .kind = end, .ticket = ticket, .now_ns = now_ns
    };
    adp_subject_outcome(subject, instance, &o);
}

uint64_t adp_subject_save(const struct adp_subject *subject,
                          const struct adp_instance *instance, void *to, uint64_t cap)
{
    adp_trial_at(subject->trial, ADP_CALL_SAVE);
    uint64_t len = subject->policy->save(instance->self, to, cap);
    adp_trial_at(subject->trial, ADP_CALL_NONE);
    return len;
}

const char *adp_subject_slot(const struct adp_subject *subject, uint32_t slot)
{
    return adp_loaded_signal(subject->loaded, slot).name;
}
