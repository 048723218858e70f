/* SPDX-License-Identifier: MIT */
/* Whether every verdict can be used: on any request, with any parameters, at any time. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

#include <string.h>

/* One request, and what is wrong with the answer ends the check. */
static void step(struct adp_play *play)
{
    struct adp_trial *trial = play->subject->trial;
    struct adp_answer answer;
    char fault[200];
    adp_subject_decide(play->subject, &play->instance, &play->traffic.view, &answer);
    if (adp_verdict_fault(play->subject->policy, &answer.verdict, fault, sizeof fault))
        adp_trial_fail(trial, "%s (request %u%s%s)", fault, trial->slate->view,
                       trial->slate->doing[0] ? ", " : "", trial->slate->doing);
    adp_traffic_answered(&play->traffic, &play->instance, &answer.verdict);
}

static void play(const struct adp_subject *subject, const struct adp_plan *plan,
                 const struct adp_start *start, uint32_t n)
{
    struct adp_play p;
    adp_play_open(&p, subject, plan, start);
    for (uint32_t i = 0; i < n; i++) {
        adp_traffic_next(&p.traffic);
        step(&p);
    }
    adp_play_close(&p);
}

/* Parameters that create refuses, with a reason, are the policy's good right: not every
 * pair of values within bounds makes sense. But it must run on its own defaults. */
static bool refuses(const struct adp_subject *subject, const struct adp_start *start)
{
    struct adp_instance instance;
    adp_subject_create(&instance, subject, start);
    if (!instance.made && !instance.error[0])
        adp_trial_fail(subject->trial, "create refused parameters%s%s without saying why",
                       subject->trial->slate->doing[0] ? " " : "",
                       subject->trial->slate->doing);
    bool refused = !instance.made;
    adp_subject_destroy(subject, &instance);
    return refused;
}

void adp_check_verdicts_are_usable(struct adp_trial *trial)
{
    enum { ROUNDS = 40, REQUESTS = 2500, N_INSTANCES = 4 };
    static const uint32_t instances[N_INSTANCES] = { 1, 2, 7, UINT32_MAX };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    uint32_t rounds = adp_trial_share(trial, ROUNDS), refused = 0;
    adp_subject_load(&subject, trial, trial->path);
    for (uint32_t round = 0; round < rounds; round++) {
        adp_subject_params(&subject, round ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL,
                           &seed, param);
        struct adp_plan plan = { .seed = adp_subject_next(&seed), .many = round % 2 };
        struct adp_start start = { .param = param,
                                   .n_instances = instances[round % N_INSTANCES] };
        if (round)
            adp_trial_doing(trial,
                            "with its parameters at random, round %u, as one of %u",
                            round, start.n_instances);
        if (round && refuses(&subject, &start))
            refused++;
        else
            play(&subject, &plan, &start, REQUESTS);
    }
    if (refused)
        adp_trial_note(trial, "create refused %u of %u random sets of parameters",
                       refused, rounds - 1);
}

/* --- parameters at their bounds --- */

enum at { AT_LO, AT_HI, AT_DEFAULT };

static double bound(const struct adp_subject *subject, uint32_t i, enum at at)
{
    struct adp_param p = adp_loaded_param(subject->loaded, i);
    return at == AT_LO ? p.lo : at == AT_HI ? p.hi : subject->usual[i];
}

void adp_check_parameters_at_bounds(struct adp_trial *trial)
{
    enum { REQUESTS = 300 };
    static const char *const words[] = { "at its lowest", "at its highest" };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    adp_subject_load(&subject, trial, trial->path);
    uint32_t n = subject.policy->n_params, refused = 0;
    if (!n)
        adp_trial_skip(trial, "it takes no parameters");
    /* Each alone, then all of them. */
    for (uint32_t k = 0; k <= n; k++)
        for (enum at at = AT_LO; at <= AT_HI; at++) {
            for (uint32_t i = 0; i < n; i++)
                param[i] = bound(&subject, i, k == n || k == i ? at : AT_DEFAULT);
            adp_trial_doing(trial, "with %s %s",
                            k < n ? adp_loaded_param(subject.loaded, k).name
                                  : "every parameter",
                            words[at]);
            struct adp_plan plan = { .seed = adp_subject_next(&seed) };
            struct adp_start start = { .param = param };
            if (refuses(&subject, &start))
                refused++;
            else
                play(&subject, &plan, &start, REQUESTS);
        }
    if (refused)
        adp_trial_note(trial,
                       "create refused %u of %u sets of parameters at their bounds",
                       refused, 2 * (n + 1));
}

/* --- time --- */

#define SECOND UINT64_C(1000000000)
#define YEARS  (UINT64_C(10) * 365 * 86400 * SECOND)

static const struct {
    const char *doing;
    uint64_t start_ns;
    int64_t step_ns; /* from one request to the next */
    int64_t leap_ns; /* once, in the middle */
} times[] = {
    { "with time that stands still", 1000 * SECOND, 0, 0 },
    { "with time that starts at 0", 0, 1000, 0 },
    { "with time that goes on by 1 ns", 1000 * SECOND, 1, 0 },
    { "with time that leaps by ten years", 1000 * SECOND, 1000000, (int64_t)YEARS },
    { "with time that runs back by 1 ns", 1000 * SECOND, -1, 0 },
    { "with time that leaps back by 1 s", 1000 * SECOND, 1000000, -(int64_t)SECOND },
    { "with time that leaps back by 1000 s", 2000 * SECOND, 1000000,
      -1000 * (int64_t)SECOND },
    { "with time that begins again at 0", 1000 * SECOND, 1000,
      -(int64_t)(1000 * SECOND) },
    { "with time that crosses 2^63", (UINT64_C(1) << 63) - 100, 1, (int64_t)SECOND },
    { "with time near its end", UINT64_MAX - 1000 * SECOND, 1000000, 0 },
};

void adp_check_time_leaps(struct adp_trial *trial)
{
    enum { REQUESTS = 400 };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    adp_subject_load(&subject, trial, trial->path);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
        struct adp_play p;
        struct adp_plan plan = { .seed = adp_subject_next(&seed) };
        struct adp_start start = { .param = param };
        uint64_t now_ns = times[k].start_ns;
        adp_trial_doing(trial, "%s", times[k].doing);
        adp_play_open(&p, &subject, &plan, &start);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            adp_traffic_next(&p.traffic);
            now_ns += (uint64_t)times[k].step_ns;
            now_ns += i == REQUESTS / 2 ? (uint64_t)times[k].leap_ns : 0;
            p.traffic.now_ns = p.traffic.view.now_ns = now_ns;
            step(&p);
        }
        adp_play_close(&p);
    }
}
