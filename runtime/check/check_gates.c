/* SPDX-License-Identifier: MIT */
/* Whether what a policy declares about its refusals agrees with what it does: reports
 * judge from gates and margin whether it could have fired.
 *
 * What can be judged depends on the policy. Gates speak of signals alone: a policy that
 * looks at the request too, or throws dice, may admit where they hold, and one with
 * memory may refuse where they do not. What is left out is noted. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

#include "core/reason.h"

#include <math.h>
#include <string.h>

struct judge {
    const struct adp_subject *subject;
    struct adp_card card;
    bool has_state;   /* judged: the first request of an instance */
    bool by_request;  /* its card says that it assumes something of the request */
    bool by_replica;  /* it declares that it reads rows of replicas */
    bool tells_p;     /* some verdict has set it */
    uint64_t one_way; /* admitted where gates hold, and not judged */
    uint64_t refused, judged;
};

/* How the gates of a view stand. */
struct stand {
    bool held; /* some rule's gates all hold, by thresholds that are known */
    bool may;  /* likewise, were the thresholds known */
};

static bool gate_holds(const struct adp_gate *g, const struct adp_view *v)
{
    double threshold = v->param[g->param], value = v->signal[g->signal];
    switch (g->op) {
    case ADP_GE:
        return value >= threshold;
    case ADP_GT:
        return value > threshold;
    case ADP_LE:
        return value <= threshold;
    default:
        return value < threshold;
    }
}

static struct stand stand_of(const struct judge *j, const struct adp_view *v)
{
    uint64_t broken = 0, open = 0, rules = 0; /* by rule */
    for (uint32_t i = 0; i < j->subject->policy->n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(j->subject->loaded, i);
        uint64_t rule = UINT64_C(1) << g.rule;
        rules |= rule;
        if (!(v->present >> g.signal & 1))
            broken |= rule;
        else if (g.param == ADP_NONE)
            open |= rule;
        else if (!gate_holds(&g, v))
            broken |= rule;
    }
    return (struct stand) {
        .held = rules & ~broken & ~open,
        .may = rules & ~broken,
    };
}

/* "kv_pressure 0.9, queue_depth absent" */
static const char *signals_of(const struct judge *j, const struct adp_view *v, char *to,
                              size_t cap)
{
    size_t at = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < j->subject->policy->n_signals && at < cap; i++) {
        const char *name = adp_subject_slot(j->subject, i);
        bool is = v->present >> i & 1;
        int n = is ? snprintf(to + at, cap - at, "%s%s %.17g", i ? ", " : "", name,
                              v->signal[i])
                   : snprintf(to + at, cap - at, "%s%s absent", i ? ", " : "", name);
        at += n > 0 ? (size_t)n : 0;
    }
    return to;
}

static _Noreturn void disagree(const struct judge *j, const struct adp_view *v,
                               const struct adp_verdict *w, const char *what)
{
    char signals[240], words[160];
    struct adp_said said = adp_verdict_said(w);
    adp_trial_fail(j->subject->trial, "it %s, %s (%s)",
                   adp_verdict_words(&said, words, sizeof words), what,
                   signals_of(j, v, signals, sizeof signals));
}

/* A request that can never be served, and one that is refused for want of readings, are
 * refused for no load: neither gates nor a margin speak of them. */
static bool beside_load(const struct adp_verdict *w)
{
    return w->reason == ADP_R_REQUEST_TOO_LARGE || w->reason == ADP_R_SIGNAL_STALE;
}

static void judge_gates(struct judge *j, const struct adp_view *v,
                        const struct adp_verdict *w)
{
    struct stand s = stand_of(j, v);
    bool refused = w->action != ADP_ADMIT;
    if (refused && !s.may && !beside_load(w))
        disagree(j, v, w, "but the gates it declares hold for no rule");
    if (refused || !s.held)
        return;
    if (j->has_state || j->by_request || w->set & ADP_SET_P)
        j->one_way++;
    else
        disagree(j, v, w, "but all gates of a rule hold");
}

/* For want of a reading is refused who has one missing. Rows of replicas, of which some
 * may be missing, are not asked here. */
static void judge_stale(const struct judge *j, const struct adp_view *v,
                        const struct adp_verdict *w)
{
    uint32_t n = j->subject->policy->n_signals;
    for (uint32_t i = 0; i < n; i++)
        if (!(v->present >> i & 1) ||
            adp_loaded_signal(j->subject->loaded, i).flags & ADP_REPLICAS)
            return;
    if (w->action != ADP_ADMIT && w->reason == ADP_R_SIGNAL_STALE)
        disagree(j, v, w, "but every signal that it declares is there");
}

static void judge_margin(struct judge *j, const struct adp_view *v,
                         const struct adp_verdict *w)
{
    bool refused = w->action != ADP_ADMIT;
    if (w->set & ADP_SET_MARGIN) {
        if (refused && w->margin < 0.0 && !beside_load(w))
            disagree(j, v, w, "a refusal whose margin is below 0");
        if (!refused && w->margin >= 0.0)
            disagree(j, v, w, "an admission whose margin is not below 0");
    } else if (refused && j->card.margin_unit && !beside_load(w)) {
        disagree(j, v, w, "a refusal without the margin that its card speaks of");
    }
}

/* Who has a memory may let one through that the dice would refuse, as a probe. */
static void judge_chance(struct judge *j, const struct adp_view *v,
                         const struct adp_verdict *w)
{
    bool refused = w->action != ADP_ADMIT, below = v->draw < w->p;
    char what[120];
    if (!(w->set & ADP_SET_P) || refused == below || (!refused && j->has_state))
        return;
    snprintf(what, sizeof what, "but its draw is %.17g: refused is whose draw is below p",
             v->draw);
    disagree(j, v, w, what);
}

static void judge(struct judge *j, const struct adp_view *v, const struct adp_verdict *w)
{
    if (!adp_verdict_usable(w))
        return; /* that is another check's */
    j->judged++;
    j->refused += w->action != ADP_ADMIT;
    j->tells_p |= (w->set & ADP_SET_P) != 0;
    if (w->action != ADP_ADMIT && j->card.flags & ADP_BASELINE)
        disagree(j, v, w, "but its card says that it is a baseline");
    judge_chance(j, v, w);
    judge_stale(j, v, w);
    if (j->subject->policy->n_gates)
        judge_gates(j, v, w);
    else
        judge_margin(j, v, w);
}

/* One instance: all of its requests are judged by margin; by gates, if it has a memory,
 * only the first. `rows`: readings per replica are there. */
static void play(struct judge *j, uint64_t *seed, enum adp_values values, bool rows,
                 uint32_t n)
{
    struct adp_play p;
    struct adp_answer answer;
    double param[ADP_MAX_PARAMS];
    adp_subject_params(j->subject, values, seed, param);
    struct adp_plan plan = { .seed = adp_subject_next(seed), .no_replicas = !rows };
    struct adp_start start = { .param = param };
    if (!adp_subject_takes(j->subject, &start))
        return;
    adp_play_open(&p, j->subject, &plan, &start);
    if (j->has_state && j->subject->policy->n_gates)
        n = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_view *view = adp_traffic_next(&p.traffic);
        adp_subject_decide(j->subject, &p.instance, view, &answer);
        judge(j, view, &answer.verdict);
        adp_traffic_answered(&p.traffic, &p.instance, &answer.verdict);
    }
    adp_play_close(&p);
}

/* --- the least draws ---
 *
 * Who compares with `draw <= p` refuses at p = 0 whoever draws 0, and is like any other
 * everywhere else. Whether 0 < p is what the verdict says. Of one that tells p at other
 * times it is taken for 0 where it is not told; of one that never does nothing is known: p
 * may be smaller than the least draw above 0. */

static const double LEAST_DRAW = 0x1p-53; /* above 0 */

/* What a new instance says to this view with another draw. */
static void ask(const struct judge *j, const struct adp_start *start,
                const struct adp_view *view, double draw, struct adp_answer *ret)
{
    struct adp_instance instance;
    struct adp_view v = *view;
    v.draw = draw;
    adp_subject_must_create(&instance, j->subject, start);
    adp_subject_decide(j->subject, &instance, &v, ret);
    if (ret->verdict.ticket)
        adp_subject_settle(j->subject, &instance, ret->verdict.ticket, ADP_NOT_RUN,
                           v.now_ns);
    adp_subject_destroy(j->subject, &instance);
}

/* Whoever draws something else out of the draw has many that are refused. */
static bool is_alone(const struct judge *j, const struct adp_start *start,
                     const struct adp_view *view, uint64_t *seed)
{
    enum { OTHERS = 32 };
    struct adp_answer answer;
    for (int i = 0; i < OTHERS; i++) {
        double draw = i % 2 ? adp_subject_unit(seed) : LEAST_DRAW * (double)(2u << i);
        ask(j, start, view, draw, &answer);
        if (answer.verdict.action != ADP_ADMIT)
            return false;
    }
    return true;
}

static void judge_least(struct judge *j, const struct adp_start *start,
                        const struct adp_view *view, uint64_t *seed)
{
    struct adp_answer none, least;
    struct adp_view v = *view;
    ask(j, start, view, 0.0, &none);
    ask(j, start, view, LEAST_DRAW, &least);
    v.draw = 0.0;
    judge(j, &v, &none.verdict);
    v.draw = LEAST_DRAW;
    judge(j, &v, &least.verdict);
    if (none.verdict.action == ADP_ADMIT || least.verdict.action != ADP_ADMIT ||
        none.verdict.set & ADP_SET_P)
        return; /* told: it has been judged */
    bool told = least.verdict.set & ADP_SET_P;
    if ((told ? least.verdict.p > 0.0 : !j->tells_p) || !is_alone(j, start, view, seed))
        return;
    v.draw = 0.0;
    disagree(j, &v, &none.verdict,
             "at a draw of 0 and at no other: refused is whose draw is below p");
}

/* Readings where chances end: all at their lowest, all at their highest, none, and as they
 * come. */
static const struct adp_view *next_view(struct adp_traffic *t, uint32_t how)
{
    const double much = 1e6; /* where there is no highest */
    const struct adp_view *view = adp_traffic_next(t);
    for (uint32_t i = 0; i < t->subject->policy->n_signals && how < 2; i++) {
        double lo = t->subject->lo[i], hi = t->subject->hi[i];
        t->signal[i] = how ? (isfinite(hi) ? hi : much) : isfinite(lo) ? lo : 0.0;
    }
    return view;
}

static void judge_draws(struct judge *j, uint64_t *seed, uint32_t n)
{
    enum { WAYS = 4 };
    static const enum adp_presence presences[WAYS] = { ADP_PRESENCE_ALL, ADP_PRESENCE_ALL,
                                                       ADP_PRESENCE_NONE,
                                                       ADP_PRESENCE_MIXED };
    struct adp_traffic *t = adp_trial_shared(j->subject->trial, sizeof *t);
    double param[ADP_MAX_PARAMS];
    for (uint32_t i = 0; i < n; i++) {
        struct adp_start start = { .param = param };
        struct adp_plan plan = { .seed = adp_subject_next(seed),
                                 .presence = presences[i % WAYS],
                                 .no_replicas = !j->by_replica || i / WAYS % 4 < 2 };
        bool random = i / WAYS % 2;
        adp_subject_params(j->subject, random ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL,
                           seed, param);
        adp_traffic_init(t, j->subject, &plan, param);
        if (!random || adp_subject_takes(j->subject, &start))
            judge_least(j, &start, next_view(t, i % WAYS), seed);
    }
}

static void note_limits(const struct judge *j)
{
    const struct adp_policy *p = j->subject->policy;
    const char *why = j->has_state ? "it has a memory: judged on first requests alone"
                      : j->by_request
                          ? "it looks at the request too: admitting where gates hold is "
                            "not judged"
                          : "it throws dice: admitting where gates hold is not judged";
    if (p->n_gates && (j->has_state || j->one_way))
        adp_trial_note(j->subject->trial, "%s", why);
    else if (!p->n_gates && !j->card.margin_unit && !(j->card.flags & ADP_BASELINE))
        adp_trial_note(j->subject->trial, "it declares neither gates nor a margin: a "
                                          "report cannot say how close it came");
}

void adp_check_gates_agree(struct adp_trial *trial)
{
    enum { ROUNDS = 60, REQUESTS = 1500, LIVES = 4000, DRAWS = 400, FEW_DRAWS = 8 };
    struct adp_subject subject;
    uint64_t seed = trial->seed;
    adp_subject_load(&subject, trial, trial->path);
    struct judge j = { .subject = &subject, .card = adp_loaded_card(subject.loaded) };
    j.has_state = subject.policy->create != NULL;
    j.by_request =
        j.card.metadata_assumed && strcmp(j.card.metadata_assumed, "none") != 0;
    for (uint32_t i = 0; i < subject.policy->n_signals; i++)
        j.by_replica |= (adp_loaded_signal(subject.loaded, i).flags & ADP_REPLICAS) != 0;
    bool many = j.has_state && subject.policy->n_gates;
    uint32_t rounds =
        many ? adp_trial_lives(trial, LIVES) : adp_trial_share(trial, ROUNDS);
    for (uint32_t i = 0; i < rounds; i++)
        play(&j, &seed, i % 4 ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL,
             j.by_replica && i / 4 % 2, REQUESTS);
    /* Two or three instances for each: whose create is slow is asked each way twice. */
    bool slow = trial->create_ms >= 1.0;
    judge_draws(&j, &seed, slow ? FEW_DRAWS : adp_trial_share(trial, DRAWS));
    note_limits(&j);
}
