/* SPDX-License-Identifier: MIT */
/* Whether an instance that is over leaves nothing behind, and one that could not be made
 * does not either. */
#include "runtime/check/checks.h"

#include "runtime/check/hooks.h"
#include "runtime/check/traffic.h"

#include <dirent.h>
#include <malloc.h>

static uint32_t count_entries(const char *folder)
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Loads it so that its allocations are seen. Its head is read again once its calls are
 * led past us: it may name free itself as its destroy. */
static void load_watched(struct adp_subject *ret, struct adp_trial *trial)
{
    adp_hooks_prepare(trial);
    adp_subject_load(ret, trial, trial->path);
    adp_hooks_watch_memory();
    adp_subject_load(ret, trial, trial->path);
}

static void live(const struct adp_subject *subject, const struct adp_plan *plan,
                 const struct adp_start *start)
{
    enum { REQUESTS = 20 };
    struct adp_play play;
    adp_play_open(&play, subject, plan, start);
    for (uint32_t i = 0; i < REQUESTS; i++)
        adp_play_step(&play);
    adp_play_close(&play);
}

void adp_check_leaves_nothing(struct adp_trial *trial)
{
    enum { LIVES = 1000, NOISE = 1 << 16 };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    uint32_t lives = adp_trial_share(trial, LIVES);
    load_watched(&subject, trial);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_start start = { .param = param };
    struct adp_plan plan = { .seed = seed };
    live(&subject, &plan, &start); /* what is made once, by libc too, is made now */

    struct adp_memory first = adp_hooks_memory();
    uint32_t threads = count_entries("/proc/self/task");
    uint32_t fds = count_entries("/proc/self/fd");
    size_t heap = mallinfo2().uordblks;
    for (uint32_t i = 0; i < lives; i++) {
        plan.seed = adp_subject_next(&seed);
        live(&subject, &plan, &start);
    }
    struct adp_memory last = adp_hooks_memory();
    size_t heap_after = mallinfo2().uordblks;
    if (last.blocks > first.blocks)
        adp_trial_fail(trial,
                       "%u lives of an instance left %llu blocks of memory behind, %llu "
                       "bytes",
                       lives, (unsigned long long)(last.blocks - first.blocks),
                       (unsigned long long)(last.bytes - first.bytes));
    if (first.blocks && first.blocks != last.blocks)
        adp_trial_note(trial, "memory of one life was freed in the next");
    if (heap_after > heap + NOISE)
        adp_trial_fail(trial, "%u lives of an instance let the heap grow by %zu bytes",
                       lives, heap_after - heap);
    if (count_entries("/proc/self/task") > threads)
        adp_trial_fail(trial, "%u lives of an instance left threads running", lives);
    if (count_entries("/proc/self/fd") > fds)
        adp_trial_fail(trial, "%u lives of an instance left descriptors open", lives);
}

/* --- create that fails --- */

static void must_leave_nothing(struct adp_trial *trial, const struct adp_memory *before,
                               const char *when)
{
    struct adp_memory after = adp_hooks_memory();
    if (after.blocks > before->blocks)
        adp_trial_fail(trial, "%s left %llu blocks of memory behind, %llu bytes", when,
                       (unsigned long long)(after.blocks - before->blocks),
                       (unsigned long long)(after.bytes - before->bytes));
}

/* False: create asks for less than n blocks. `first`: what a runtime makes once, on its
 * first failure, is not held against the policy. */
static bool fail_nth(const struct adp_subject *subject, const struct adp_start *start,
                     uint64_t nth, bool first)
{
    struct adp_trial *trial = subject->trial;
    struct adp_memory before = adp_hooks_memory();
    struct adp_instance instance;
    adp_trial_doing(trial, "whose allocation %llu fails", (unsigned long long)nth);
    adp_hooks_fail_nth(nth);
    adp_subject_create(&instance, subject, start);
    bool failed = adp_hooks_has_failed();
    adp_hooks_fail_nth(0);
    if (!failed && !instance.made)
        adp_trial_fail(trial, "create refuses parameters within their bounds: %s",
                       instance.error);
    if (failed && !instance.made && !instance.error[0])
        adp_trial_fail(trial,
                       "create, whose allocation %llu failed, does not say why "
                       "there is no instance",
                       (unsigned long long)nth);
    bool made = instance.made; /* it may have got by without */
    adp_subject_destroy(subject, &instance);
    if (!first && !made)
        must_leave_nothing(trial, &before, "a create that ran out of memory");
    return failed;
}

/* A `config:` that the policy may know nothing of: an instance, or a reason. */
static void fail_config(struct adp_subject *subject, const struct adp_start *start)
{
    static const char *const configs[] = { "{}", "{\"no such key\":[1,{\"deep\":[]}]}" };
    struct adp_check_options options = *subject->trial->options;
    struct adp_trial trial = *subject->trial;
    struct adp_trial *usual = subject->trial;
    trial.options = &options;
    if (!(subject->policy->flags & ADP_TAKES_CONFIG))
        return; /* the host gives it none */
    subject->trial = &trial;
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct adp_instance instance;
        struct adp_memory before = adp_hooks_memory();
        options.config = configs[i];
        adp_trial_doing(&trial, "with config %s", configs[i]);
        adp_subject_create(&instance, subject, start);
        if (!instance.made && !instance.error[0])
            adp_trial_fail(&trial, "create refuses config %s without saying why",
                           configs[i]);
        bool made = instance.made;
        adp_subject_destroy(subject, &instance);
        if (!made)
            must_leave_nothing(&trial, &before, "a create that refused its config");
    }
    subject->trial = usual;
}

void adp_check_survives_failing_create(struct adp_trial *trial)
{
    enum { MOST = 200 };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed, nth = 1;
    load_watched(&subject, trial);
    if (!subject.policy->create)
        adp_trial_skip(trial, "it has no create");
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_start start = { .param = param };
    struct adp_instance instance;
    adp_subject_must_create(&instance, &subject, &start); /* what is made once */
    adp_subject_destroy(&subject, &instance);
    while (nth <= MOST && fail_nth(&subject, &start, nth, true) &&
           fail_nth(&subject, &start, nth, false))
        nth++;
    fail_config(&subject, &start);
    adp_trial_doing(trial, "after creates that failed");
    adp_subject_must_create(&instance, &subject, &start);
    adp_subject_destroy(&subject, &instance);
}
