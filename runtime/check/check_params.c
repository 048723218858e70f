/* SPDX-License-Identifier: MIT */
/* Whether a parameter that may change under an instance (no ADP_FIXED) does so: one that
 * create put aside is not what is in force.
 *
 * Three instances are asked the same: one of the old value, one of the new one, and one
 * that is made with the old value and then told the new one in each view. If those of the
 * old and the new value part, and the third always goes with the old one, the value that
 * is in force is not read. That it shows at once, or as in a new instance, is not asked:
 * what was filled or learnt under the old value may last. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

#include <string.h>

enum { ROUNDS = 3, REQUESTS = 600, VALUES = 3, REST_EVERY = 50 };
static const uint64_t REST_NS = UINT64_C(600) * 1000000000u;

/* A changed parameter, and the answers to it. */
struct change {
    uint32_t i; /* in params */
    uint64_t seed;
    double before[ADP_MAX_PARAMS], after[ADP_MAX_PARAMS];
    struct adp_said *old, *fresh, *live; /* REQUESTS each */
};

/* What is known of one parameter: the first change that made a difference to a new
 * instance and none to the one that was there. */
struct finding {
    bool taken; /* some change was */
    bool passed_over;
    double from, to;
    uint32_t at; /* request, from 0 */
    struct adp_said live, fresh;
};

static void play(const struct adp_subject *subject, const struct change *c,
                 const double *made_with, const double *in_force, struct adp_said *said,
                 uint32_t n)
{
    struct adp_plan plan = { .seed = c->seed };
    struct adp_start start = { .param = made_with };
    struct adp_play play;
    adp_play_open(&play, subject, &plan, &start);
    play.traffic.param = c->before; /* the same requests to all */
    play.traffic.in_force = in_force;
    for (uint32_t i = 0; i < n; i++) {
        if (i % REST_EVERY == REST_EVERY - 1)
            play.traffic.now_ns +=
                REST_NS; /* what was filled under the old value is spent */
        said[i] = adp_play_step(&play);
    }
    adp_play_close(&play);
}

static bool takes(const struct adp_subject *subject, const double *param)
{
    return adp_subject_takes(subject, &(struct adp_start) { .param = param });
}

/* Its lowest, its highest, and one in between: false when that is the old one. */
static bool pick(const struct adp_subject *subject, struct change *c, uint32_t which)
{
    struct adp_param p = adp_loaded_param(subject->loaded, c->i);
    double between[ADP_MAX_PARAMS];
    memcpy(c->after, c->before, sizeof c->after);
    adp_subject_params(subject, ADP_VALUES_RANDOM, &c->seed, between);
    c->after[c->i] = which == 0 ? p.lo : which == 1 ? p.hi : between[c->i];
    return c->after[c->i] != c->before[c->i];
}

static void look(const struct adp_subject *subject, struct change *c, struct finding *f)
{
    uint32_t n = adp_trial_share(subject->trial, REQUESTS);
    if (!takes(subject, c->after))
        return;
    play(subject, c, c->before, c->before, c->old, n);
    play(subject, c, c->after, c->after, c->fresh, n);
    uint32_t at = adp_play_differ(c->old, c->fresh, n);
    if (at == n)
        return;
    play(subject, c, c->before, c->after, c->live, n);
    if (adp_play_differ(c->old, c->live, n) < n) {
        f->taken = true;
    } else if (!f->passed_over) {
        f->passed_over = true;
        f->from = c->before[c->i];
        f->to = c->after[c->i];
        f->at = at;
        f->live = c->live[at];
        f->fresh = c->fresh[at];
    }
}

/* Which parameter is another in a set of adp_subject_set, if not the one that changes. */
static bool differs_in(const struct change *c, uint32_t set, uint32_t *ret_other)
{
    *ret_other = (set - 1) / 2;
    return set && *ret_other != c->i;
}

/* The parameters that are in force before: first those of the set, then others around the
 * one in which it differs. */
static void make_before(const struct adp_subject *subject, uint32_t set, uint32_t round,
                        struct change *c)
{
    double usual[ADP_MAX_PARAMS];
    uint32_t other;
    if (!adp_subject_set(subject, set, usual))
        return;
    memcpy(c->before, usual, sizeof c->before);
    if (!round)
        return;
    adp_subject_params(subject, ADP_VALUES_RANDOM, &c->seed, c->before);
    if (differs_in(c, set, &other))
        c->before[other] = usual[other];
    if (!takes(subject, c->before))
        memcpy(c->before, usual, sizeof c->before);
}

static void must_be_taken(const struct adp_subject *subject, struct change *c,
                          uint32_t set, const char *name)
{
    struct finding f = { 0 };
    char here[200], there[200], with[100] = "";
    uint32_t other;
    for (uint32_t k = 0; k < ROUNDS * VALUES && !f.taken; k++) {
        make_before(subject, set, k / VALUES, c);
        adp_trial_doing(subject->trial, "with %s changed in view->param", name);
        if (pick(subject, c, k % VALUES))
            look(subject, c, &f);
    }
    if (differs_in(c, set, &other))
        snprintf(with, sizeof with, ", with %s at %.9g,",
                 adp_loaded_param(subject->loaded, other).name, c->before[other]);
    if (f.passed_over && !f.taken)
        adp_trial_fail(
            subject->trial,
            "%s is not ADP_FIXED, but when it changes from %.9g to %.9g in view->param%s "
            "nothing does: on request %u it %s, a new instance with %.9g %s",
            name, f.from, f.to, with, f.at + 1,
            adp_verdict_words(&f.live, here, sizeof here), f.to,
            adp_verdict_words(&f.fresh, there, sizeof there));
}

/* The usual set, those where a switch is turned over, and about six of the rest. */
static void take_each_set(const struct adp_subject *subject, struct change *c,
                          const char *name)
{
    enum { SOME = 6 };
    uint32_t sets = adp_subject_sets(subject), every = sets / SOME + 1, other;
    double param[ADP_MAX_PARAMS];
    must_be_taken(subject, c, 0, name);
    for (uint32_t set = 1; set < sets; set++) {
        if (!differs_in(c, set, &other) || !adp_subject_set(subject, set, param) ||
            !takes(subject, param))
            continue;
        bool is_switch = adp_loaded_param(subject->loaded, other).kind == ADP_BOOL;
        if (is_switch || (set + c->i) % every == 0)
            must_be_taken(subject, c, set, name);
    }
}

void adp_check_takes_changed_parameters(struct adp_trial *trial)
{
    enum { BYTES = REQUESTS * sizeof(struct adp_said) };
    struct adp_subject subject;
    struct change c = { .seed = trial->seed,
                        .old = adp_trial_shared(trial, BYTES),
                        .fresh = adp_trial_shared(trial, BYTES),
                        .live = adp_trial_shared(trial, BYTES) };
    uint32_t asked = 0;
    adp_subject_load(&subject, trial, trial->path);
    if (!subject.policy->create)
        adp_trial_skip(trial, "it has no create, and so nothing to keep a value in");
    for (c.i = 0; c.i < subject.policy->n_params; c.i++) {
        struct adp_param p = adp_loaded_param(subject.loaded, c.i);
        if (p.flags & ADP_FIXED)
            continue;
        take_each_set(&subject, &c, p.name);
        asked++;
    }
    if (!asked)
        adp_trial_skip(trial, "it has no parameter that may change");
}
