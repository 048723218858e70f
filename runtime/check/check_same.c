/* SPDX-License-Identifier: MIT */
/* Whether a verdict is a function of (instance state, view): the same stream of requests
 * is answered alike wherever, whenever and beside whatever it is asked. */
#include "runtime/check/checks.h"

#include "runtime/check/child.h"
#include "runtime/check/hooks.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rounds of requests, each with its own parameters and plan, by number. */
enum { ROUNDS = 8, REQUESTS = 1500 };

static void make_round(const struct adp_subject *subject, uint32_t round,
                       struct adp_plan *ret, double param[ADP_MAX_PARAMS])
{
    uint64_t seed = subject->trial->seed + (uint64_t)round * 1000003u;
    adp_subject_params(subject, ADP_VALUES_TYPICAL, &seed, param);
    if (round) {
        double other[ADP_MAX_PARAMS];
        adp_subject_params(subject, ADP_VALUES_RANDOM, &seed, other);
        struct adp_start start = { .param = other };
        if (adp_subject_takes(subject, &start))
            memcpy(param, other, sizeof other);
    }
    *ret = (struct adp_plan) { .seed = adp_subject_next(&seed) };
}

static void play_round(const struct adp_subject *subject, uint32_t round,
                       struct adp_said *said)
{
    double param[ADP_MAX_PARAMS];
    struct adp_plan plan;
    make_round(subject, round, &plan, param);
    struct adp_start start = { .param = param };
    adp_play_all(subject, &plan, &start, said, REQUESTS);
}

/* Ends the check when they differ: "on request 3 it A, but B <how>". */
static void must_be_same(struct adp_trial *trial, const struct adp_said *a,
                         const struct adp_said *b, const char *how)
{
    char first[200], second[200];
    uint32_t at = adp_play_differ(a, b, REQUESTS);
    if (at < REQUESTS)
        adp_trial_fail(trial, "on request %u it %s, but %s %s", at + 1,
                       adp_verdict_words(&a[at], first, sizeof first), how,
                       adp_verdict_words(&b[at], second, sizeof second));
}

/* --- B2: in another process --- */

/* Leaves something in the part of the stack that decide will use, so that a variable
 * that nobody set holds another thing in each process. */
static __attribute__((noinline)) void soil_stack(int byte)
{
    volatile unsigned char mud[4096];
    for (size_t i = 0; i < sizeof mud; i++)
        mud[i] = (unsigned char)byte;
}

struct elsewhere {
    struct adp_trial *trial;
    struct adp_said *said;
    uint32_t rounds;
};

static void soiled_play(const struct adp_subject *subject, uint32_t round, int byte,
                        struct adp_said *said)
{
    double param[ADP_MAX_PARAMS];
    struct adp_play play;
    struct adp_plan plan;
    make_round(subject, round, &plan, param);
    struct adp_start start = { .param = param };
    soil_stack(byte);
    adp_play_open(&play, subject, &plan, &start);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        soil_stack(byte);
        said[i] = adp_play_step(&play);
    }
    adp_play_close(&play);
}

/* What a process is given at its start to be different by: it is a fork, which has got its
 * parent's. The addresses of libc and what this system is called are the same still. */
static void change_random_bytes(void)
{
    enum { BYTES = 16 };
    unsigned char *bytes = (unsigned char *)getauxval(AT_RANDOM);
    for (int i = 0; bytes && i < BYTES; i++)
        bytes[i] = (unsigned char)~bytes[i];
}

/* The thread's own, by which a function sees that its frame was overwritten. */
static __attribute__((noinline, no_stack_protector)) void turn_canary(void)
{
#if defined __x86_64__
    __asm__ volatile("notq %%fs:0x28" ::: "memory", "cc");
#endif
}

static void *play_on_thread(void *ctx)
{
    const struct elsewhere *e = ctx;
    struct adp_subject subject;
    adp_subject_load(&subject, e->trial, e->trial->path);
    for (uint32_t r = 0; r < e->rounds; r++)
        soiled_play(&subject, r, 0xa5, e->said + (size_t)r * REQUESTS);
    return NULL;
}

/* Turned back before it returns: whoever called it has looked at the canary already. */
static __attribute__((noinline, no_stack_protector)) void *play_with_canary(void *ctx)
{
    turn_canary();
    void *none = play_on_thread(ctx);
    turn_canary();
    return none;
}

/* Another place in memory, another locale, time zone, environment, stack and heap; another
 * thread. */
static void play_elsewhere(void *ctx)
{
    const struct elsewhere *e = ctx;
    pthread_t thread;
    mmap(NULL, (1 + e->trial->seed % 97) << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
         -1, 0);
    clearenv();
    setenv("TZ", "Pacific/Apia", 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("HOME", "/nowhere", 1);
    if (!setlocale(LC_ALL, ""))
        setlocale(LC_ALL, "C.UTF-8");
    mallopt(M_PERTURB, 0x5a);
    change_random_bytes();
    if (chdir("/") != 0)
        adp_child_exit(1);
    adp_trap_thread(e->trial, &thread, NULL, play_with_canary, ctx);
    pthread_join(thread, NULL);
}

void adp_check_is_deterministic(struct adp_trial *trial)
{
    uint32_t rounds = adp_trial_share(trial, ROUNDS);
    size_t bytes = (size_t)rounds * REQUESTS * sizeof(struct adp_said);
    struct elsewhere e = { trial, adp_trial_shared(trial, bytes), rounds };
    struct adp_said *said = adp_trial_shared(trial, bytes);
    struct adp_subject subject;
    struct adp_child child;
    adp_hooks_prepare(trial); /* before anything of the policy's is mapped */
    struct adp_child_limit limit = { trial->limit_ms / 2, NULL, false };
    adp_child_run(&child, limit, play_elsewhere, &e);
    adp_trial_take_child(trial, &child, limit.ms, "in a second process ");

    adp_subject_load(&subject, trial, trial->path);
    adp_hooks_forbid_outside();
    for (uint32_t r = 0; r < rounds; r++) {
        struct adp_said *here = said + (size_t)r * REQUESTS;
        soiled_play(&subject, r, 0x3c, here);
        must_be_same(trial, here, e.said + (size_t)r * REQUESTS,
                     "in another process, with another locale, time zone and memory, it");
    }
}

/* --- B3: beside another instance, after another instance --- */

static void play_both(const struct adp_subject *subject, uint32_t a, uint32_t b,
                      struct adp_said *said_a, struct adp_said *said_b)
{
    double param_a[ADP_MAX_PARAMS], param_b[ADP_MAX_PARAMS];
    struct adp_plan plan_a, plan_b;
    struct adp_play first, second;
    make_round(subject, a, &plan_a, param_a);
    make_round(subject, b, &plan_b, param_b);
    struct adp_start start_a = { .param = param_a }, start_b = { .param = param_b };
    adp_play_open(&first, subject, &plan_a, &start_a);
    adp_play_open(&second, subject, &plan_b, &start_b);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        said_a[i] = adp_play_step(&first);
        said_b[i] = adp_play_step(&second);
    }
    adp_play_close(&first);
    adp_play_close(&second);
}

void adp_check_instances_share_nothing(struct adp_trial *trial)
{
    enum { BYTES = REQUESTS * sizeof(struct adp_said) };
    struct adp_said *first = adp_trial_shared(trial, BYTES);
    struct adp_said *again = adp_trial_shared(trial, BYTES);
    struct adp_said *other = adp_trial_shared(trial, BYTES);
    struct adp_said *beside = adp_trial_shared(trial, BYTES);
    struct adp_subject subject;
    uint32_t rounds = adp_trial_share(trial, ROUNDS);
    adp_subject_load(&subject, trial, trial->path);
    for (uint32_t r = 0; r < rounds; r++) {
        play_round(&subject, r, first);
        play_round(&subject, r, again);
        must_be_same(trial, first, again, "an instance that was created after it");
        play_round(&subject, r + 1, other);
        play_both(&subject, r, r + 1, again, beside);
        must_be_same(trial, first, again, "with another instance beside it, it");
        must_be_same(trial, other, beside, "with another instance beside it, it");
    }
}

/* --- B4: what is absent --- */

static void play_filled(const struct adp_subject *subject, uint32_t round,
                        enum adp_presence presence, const struct adp_plan *fills,
                        struct adp_said *said)
{
    double param[ADP_MAX_PARAMS];
    struct adp_plan plan;
    make_round(subject, round, &plan, param);
    plan.presence = presence;
    plan.fill_signals = fills->fill_signals;
    plan.fill_facts = fills->fill_facts;
    plan.fill_measures = fills->fill_measures;
    struct adp_start start = { .param = param };
    adp_play_all(subject, &plan, &start, said, REQUESTS);
}

static const struct {
    const char *what;
    struct adp_plan one; /* 1 in the field that this is about */
} kinds[] = {
    { "absent slots", { .fill_signals = 1 } },
    { "unknown facts", { .fill_facts = 1 } },
    { "unmeasured outcomes", { .fill_measures = 1 } },
};

static void vary(const struct adp_subject *subject, uint32_t round,
                 enum adp_presence presence, const struct adp_said *said,
                 struct adp_said *filled)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (uint32_t f = 1; f < ADP_FILLS; f++) {
            struct adp_plan fills = { .fill_signals = f * kinds[k].one.fill_signals,
                                      .fill_facts = f * kinds[k].one.fill_facts,
                                      .fill_measures = f * kinds[k].one.fill_measures };
            char how[80];
            snprintf(how, sizeof how, "with %s in %s instead of 0 it",
                     adp_traffic_fill_word(f), kinds[k].what);
            adp_trial_doing(subject->trial, "with %s in %s", adp_traffic_fill_word(f),
                            kinds[k].what);
            play_filled(subject, round, presence, &fills, filled);
            must_be_same(subject->trial, said, filled, how);
        }
}

void adp_check_absent_is_not_read(struct adp_trial *trial)
{
    enum { BYTES = REQUESTS * sizeof(struct adp_said) };
    static const struct adp_plan zero = { 0 };
    struct adp_said *said = adp_trial_shared(trial, BYTES);
    struct adp_said *filled = adp_trial_shared(trial, BYTES);
    struct adp_subject subject;
    uint32_t rounds = adp_trial_share(trial, ROUNDS / 2);
    adp_subject_load(&subject, trial, trial->path);
    for (uint32_t r = 0; r < rounds; r++) {
        play_filled(&subject, r, ADP_PRESENCE_MIXED, &zero, said);
        vary(&subject, r, ADP_PRESENCE_MIXED, said, filled);
    }
    adp_trial_doing(trial, "with nothing present");
    play_filled(&subject, 0, ADP_PRESENCE_NONE, &zero, said);
    vary(&subject, 0, ADP_PRESENCE_NONE, said, filled);
}
