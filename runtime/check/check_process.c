/* SPDX-License-Identifier: MIT */
/* What calling a policy does to the process that hosts it: nothing. Descriptors, threads and
 * memory that an instance may have while it lives are looked at where it ends
 * (check_life.c). */
#include "runtime/check/checks.h"

#include "runtime/check/process.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <stdlib.h>

enum { LIVES = 3, CLOSELY = 40, REQUESTS = 3000 };

struct watch {
    const struct adp_subject *subject;
    struct adp_process *before, *after;
    uint64_t fpu; /* as it was before */
};

static void look(const struct watch *w, const char *what)
{
    adp_process_read(w->after);
    adp_process_compare(w->subject->trial, what, w->before, w->after);
}

/* After each call; all else is looked at now and then. */
static void look_at_numbers(const struct watch *w, const char *what)
{
    if (adp_process_fpu() != w->fpu)
        look(w, what);
}

static void step(const struct watch *w, struct adp_play *p, bool closely)
{
    struct adp_answer answer;
    const struct adp_view *view = adp_traffic_next(&p->traffic);
    adp_subject_decide(w->subject, &p->instance, view, &answer);
    look_at_numbers(w, "decide");
    if (closely)
        look(w, "decide");
    adp_traffic_answered(&p->traffic, &p->instance, &answer.verdict);
    look_at_numbers(w, "outcome");
    if (closely)
        look(w, "outcome");
}

static void save(const struct watch *w, const struct adp_play *p)
{
    const struct adp_policy *policy = w->subject->policy;
    void *to = policy->save ? malloc((size_t)policy->max_saved + 1) : NULL;
    if (!to)
        return;
    adp_subject_save(w->subject, &p->instance, to, policy->max_saved);
    free(to);
    look(w, "save");
}

static void live(const struct watch *w, uint64_t *seed, uint32_t n)
{
    double param[ADP_MAX_PARAMS];
    struct adp_play play;
    adp_subject_params(w->subject, ADP_VALUES_TYPICAL, seed, param);
    struct adp_start start = { .param = param };
    struct adp_plan plan = { .seed = adp_subject_next(seed), .every_end = true };
    adp_play_open(&play, w->subject, &plan, &start);
    look(w, "create");
    for (uint32_t i = 0; i < n; i++)
        step(w, &play, i < CLOSELY || i % 1000 == 0);
    look(w, "decide or outcome");
    save(w, &play);
    adp_traffic_settle(&play.traffic, &play.instance, 0);
    look(w, "outcome");
    adp_subject_destroy(w->subject, &play.instance);
    look(w, "destroy");
}

void adp_check_calls_change_nothing(struct adp_trial *trial)
{
    struct adp_subject subject;
    struct watch w = { .subject = &subject,
                       .before = adp_trial_shared(trial, sizeof *w.before),
                       .after = adp_trial_shared(trial, sizeof *w.after) };
    uint64_t seed = trial->seed;
    adp_process_set_odd(trial->scratch);
    adp_trap_fence(trial);
    adp_process_open_odd();
    adp_subject_load(&subject, trial, trial->path);
    bool filtered = adp_trap_set(trial, ADP_TRAP_SETTING);
    for (uint32_t i = 0; i < LIVES; i++) {
        if (i)
            adp_process_block_others(); /* whatever it blocks is open in one of its lives */
        adp_process_read(w.before);
        w.fpu = w.before->fpu;
        live(&w, &seed, adp_trial_share(trial, REQUESTS));
    }
    if (!filtered)
        adp_trial_note(trial,
                       "timers and limits that were set and put back were not looked "
                       "for: this system allows no filter");
}
