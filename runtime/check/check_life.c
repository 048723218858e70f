/* SPDX-License-Identifier: MIT */
/* How long an instance takes to be made, and whether one that is over leaves nothing behind;
 * one that could not be made does not either. */
#include "runtime/check/checks.h"

#include "core/glyph.h"
#include "core/pen.h"
#include "runtime/check/hooks.h"
#include "runtime/check/process.h"
#include "runtime/check/timing.h"
#include "runtime/check/traffic.h"

#include <ctype.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

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

/* --- create that takes its time --- */

struct cost {
    double cpu_ms, wall_ms;
};

static struct cost cost_of(const struct adp_subject *subject,
                           const struct adp_start *start, bool *ret_made)
{
    struct adp_instance instance;
    double cpu = adp_timing_ms(CLOCK_PROCESS_CPUTIME_ID),
           wall = adp_timing_ms(CLOCK_MONOTONIC);
    adp_subject_create(&instance, subject, start);
    struct cost cost = { adp_timing_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                         adp_timing_ms(CLOCK_MONOTONIC) - wall };
    *ret_made = instance.made;
    adp_subject_destroy(subject, &instance);
    return cost;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Of several sets of parameters the slowest, each at its best of some tries: the machine may
 * be busy. Waiting for the processor is no fault of the policy's, sleeping is. */
void adp_check_is_made_soon(struct adp_trial *trial)
{
    enum { SETS = 3, TRIES = 3, MOST_WALL_MS = 4 * ADP_CREATE_MOST_MS };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS], slowest_ms = 0.0;
    uint64_t seed = trial->seed;
    adp_subject_load(&subject, trial, trial->path);
    if (!subject.policy->create)
        adp_trial_skip(trial, "it has no create");
    for (uint32_t set = 0; set < SETS; set++) {
        bool made;
        adp_subject_params(&subject, set ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL, &seed,
                           param);
        struct adp_start start = { .param = param };
        struct cost best = cost_of(&subject, &start, &made);
        for (uint32_t i = 1; i < TRIES; i++) {
            struct cost again = cost_of(&subject, &start, &made);
            best.cpu_ms = least(best.cpu_ms, again.cpu_ms);
            best.wall_ms = least(best.wall_ms, again.wall_ms);
        }
        bool thinks = best.cpu_ms > ADP_CREATE_MOST_MS;
        if (!thinks && best.wall_ms > MOST_WALL_MS)
            adp_trial_mend(trial, ADP_MEND_WAITS);
        if (thinks || best.wall_ms > MOST_WALL_MS)
            adp_trial_fail(trial,
                           "create takes %.0f ms, %.0f ms of it computing, expected at "
                           "most %d",
                           best.wall_ms, best.cpu_ms, ADP_CREATE_MOST_MS);
        if (best.wall_ms > slowest_ms)
            slowest_ms = best.wall_ms;
    }
    trial->slate->create_cost_ms = slowest_ms;
    if (slowest_ms >= 1.0)
        adp_trial_note(trial, "in %.1f ms: the others have more time", slowest_ms);
}

/* --- lives --- */

void adp_check_leaves_nothing(struct adp_trial *trial)
{
    enum { LIVES = 1000, NOISE = 1 << 16, FEW_KEYS = 4 /* made once */ };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    uint32_t lives = adp_trial_lives(trial, LIVES);
    load_watched(&subject, trial);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_start start = { .param = param };
    struct adp_plan plan = { .seed = seed };
    live(&subject, &plan, &start); /* what is made once, by libc too, is made now */

    struct adp_memory first = adp_hooks_memory();
    uint32_t threads = adp_process_entries("/proc/self/task");
    uint32_t fds = adp_process_entries("/proc/self/fd");
    uint32_t keys = adp_settings_free_keys();
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
    if (last.mapped > first.mapped)
        adp_trial_fail(trial, "%u lives of an instance left %llu bytes mapped", lives,
                       (unsigned long long)(last.mapped - first.mapped));
    if (first.blocks && first.blocks != last.blocks)
        adp_trial_note(trial, "memory of one life was freed in the next");
    if (heap_after > heap + NOISE)
        adp_trial_fail(trial, "%u lives of an instance let the heap grow by %zu bytes",
                       lives, heap_after - heap);
    if (adp_process_entries("/proc/self/task") > threads)
        adp_trial_fail(trial, "%u lives of an instance left threads running", lives);
    if (adp_process_entries("/proc/self/fd") > fds)
        adp_trial_fail(trial, "%u lives of an instance left descriptors open", lives);
    uint32_t keys_after = adp_settings_free_keys();
    if (keys_after + FEW_KEYS < keys)
        adp_trial_fail(
            trial,
            "%u lives of an instance left %u keys (pthread_key_create), of which "
            "a process has a thousand",
            lives, keys - keys_after);
}

/* --- create that fails --- */

enum { ERROR_ROOM = 256 };

/* Where create says why: this check's own, so that what is around it can be looked at. */
static struct {
    struct adp_trial *trial;
    char text[ERROR_ROOM];
    bool by_another; /* whether it says why is another check's to ask */
    uint64_t cap;    /* 0: no error is wanted, and there is nowhere for it */
} room;

static const char UNTOUCHED = 0x7f;

/* NULL: nothing is. The room is large enough for whole sentences. */
static const char *what_is_wrong_with(const char *text)
{
    size_t n = strlen(text);
    int bytes;
    if (!adp_pen_keeps(text, n))
        return "is not UTF-8";
    for (size_t i = 0; i < n; i += (size_t)bytes)
        if (adp_glyph_steers(adp_glyph_at(text + i, &bytes)))
            return "has control characters in it";
    if (n > 1 && isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
        return "begins with a capital";
    if (n && text[n - 1] == '.')
        return "ends with a full stop";
    return NULL;
}

static void judge_error(void)
{
    for (uint64_t i = room.cap; i < ERROR_ROOM; i++)
        if (room.text[i] != (i ? UNTOUCHED : '\0'))
            adp_trial_fail(room.trial,
                           "create writes byte %llu of an error for which there are "
                           "%llu, %s",
                           (unsigned long long)i + 1, (unsigned long long)room.cap,
                           room.trial->slate->doing);
    if (room.cap && strnlen(room.text, room.cap) == room.cap)
        adp_trial_fail(room.trial,
                       "create leaves its error, of %llu bytes, without a NUL",
                       (unsigned long long)room.cap);
    const char *wrong = room.cap == ERROR_ROOM ? what_is_wrong_with(room.text) : NULL;
    if (wrong)
        adp_trial_fail(room.trial, "what create says %s: \"%s\"", wrong, room.text);
}

static void *create_judged(const struct adp_policy *policy, const struct adp_setup *setup)
{
    struct adp_setup s = *setup;
    memset(room.text, UNTOUCHED, sizeof room.text);
    room.text[0] = '\0';
    s.error = room.cap ? room.text : NULL;
    s.error_cap = room.cap;
    void *self = policy->create(&s);
    if (!self)
        judge_error();
    snprintf(setup->error, setup->error_cap, "%s", room.cap && !self ? room.text : "");
    return self;
}

static void must_leave_nothing(struct adp_trial *trial, const struct adp_memory *before)
{
    struct adp_memory after = adp_hooks_memory();
    if (after.blocks > before->blocks)
        adp_trial_fail(trial,
                       "a create that failed left %llu blocks of memory behind, "
                       "%llu bytes, %s",
                       (unsigned long long)(after.blocks - before->blocks),
                       (unsigned long long)(after.bytes - before->bytes),
                       trial->slate->doing);
    if (after.mapped > before->mapped)
        adp_trial_fail(trial, "a create that failed left %llu bytes mapped, %s",
                       (unsigned long long)(after.mapped - before->mapped),
                       trial->slate->doing);
}

/* One create that may well fail; `nth` allocation of it does, 0: none. `first`: what a
 * runtime makes once, on its first failure, is not held against the policy. Whether there
 * was an instance. */
static bool create_once(const struct adp_subject *subject, const struct adp_start *start,
                        uint64_t nth, bool first)
{
    struct adp_memory before = adp_hooks_memory();
    struct adp_instance instance;
    adp_hooks_fail_nth(nth);
    adp_subject_create(&instance, subject, start);
    adp_hooks_fail_nth(0);
    bool made = instance.made; /* it may have got by without */
    if (!made && room.cap == ERROR_ROOM && !room.by_another && !instance.error[0])
        adp_trial_fail(subject->trial, "create does not say why there is no instance, %s",
                       subject->trial->slate->doing);
    adp_subject_destroy(subject, &instance);
    if (!first && !made)
        must_leave_nothing(subject->trial, &before);
    return made;
}

/* The same failure with less and less room for an error. */
static void create_each_way(const struct adp_subject *subject,
                            const struct adp_start *start, uint64_t nth)
{
    static const uint64_t caps[] = { ERROR_ROOM, ERROR_ROOM, 16, 1, 0 };
    char doing[sizeof subject->trial->slate->doing];
    memcpy(doing, subject->trial->slate->doing, sizeof doing);
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        room.cap = caps[i];
        if (caps[i] < ERROR_ROOM)
            adp_trial_doing(subject->trial,
                            "%.100s and there are %llu bytes for an error", doing,
                            (unsigned long long)caps[i]);
        if (create_once(subject, start, nth, i == 0))
            break;
    }
    room.cap = ERROR_ROOM;
}

/* The 1st, 2nd, ... allocation of create. */
static void fail_allocations(const struct adp_subject *subject,
                             const struct adp_start *start)
{
    enum { MOST = 200 };
    for (uint64_t nth = 1; nth <= MOST; nth++) {
        adp_trial_doing(subject->trial, "whose allocation %llu fails",
                        (unsigned long long)nth);
        create_once(subject, start, nth, true);
        if (!adp_hooks_has_failed())
            break;
        create_once(subject, start, nth, false);
        if (nth == 1)
            create_each_way(subject, start, nth);
    }
}

/* A `config:` that the policy may know nothing of: an instance, or a reason. */
static void fail_config(struct adp_subject *subject, const struct adp_start *start)
{
    static const char *const configs[] = { "{}", "{\"no such key\":[1,{\"deep\":[]}]}" };
    struct adp_check_options options = *subject->trial->options;
    const struct adp_check_options *usual = subject->trial->options;
    if (!(subject->policy->flags & ADP_TAKES_CONFIG))
        return; /* the host gives it none */
    subject->trial->options = &options;
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        options.config = configs[i];
        adp_trial_doing(subject->trial, "with config %s", configs[i]);
        create_each_way(subject, start, 0);
    }
    subject->trial->options = usual;
}

/* Each parameter at its bounds, alone. */
static void fail_bounds(const struct adp_subject *subject, const double *usual)
{
    double param[ADP_MAX_PARAMS];
    struct adp_start start = { .param = param };
    room.by_another = true; /* B7 */
    for (uint32_t i = 0; i < 2 * subject->policy->n_params; i++) {
        struct adp_param p = adp_loaded_param(subject->loaded, i / 2);
        memcpy(param, usual, sizeof param);
        param[i / 2] = i % 2 ? p.hi : p.lo;
        adp_trial_doing(subject->trial, "with %s at its %s", p.name,
                        i % 2 ? "highest" : "lowest");
        create_each_way(subject, &start, 0);
    }
    room.by_another = false;
}

/* State of its own, of which a bit is turned over, and bytes that are nobody's. */
static void fail_saved(const struct adp_subject *subject, const struct adp_start *usual,
                       uint64_t seed)
{
    const struct adp_policy *p = subject->policy;
    struct adp_start start = *usual;
    struct adp_instance instance;
    unsigned char *saved = p->save ? malloc((size_t)p->max_saved + 1) : NULL;
    if (!saved)
        return;
    adp_subject_must_create(&instance, subject, usual);
    uint64_t len = adp_subject_save(subject, &instance, saved, p->max_saved);
    adp_subject_destroy(subject, &instance);
    start.saved = saved;
    start.saved_len = len ? len : 1;
    saved[len / 2] ^= 0x10;
    adp_trial_doing(subject->trial, "with a saved state that is damaged");
    create_each_way(subject, &start, 0);
    for (uint64_t i = 0; i < start.saved_len; i++)
        saved[i] = (unsigned char)adp_subject_next(&seed);
    create_each_way(subject, &start, 0);
    free(saved);
}

void adp_check_survives_failing_create(struct adp_trial *trial)
{
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS] = { 0 };
    uint64_t seed = trial->seed;
    load_watched(&subject, trial);
    if (!subject.policy->create)
        adp_trial_skip(trial, "it has no create");
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_start start = { .param = param };
    struct adp_instance instance;
    room.trial = trial;
    room.cap = ERROR_ROOM;
    subject.calls.create = create_judged;
    adp_subject_must_create(&instance, &subject, &start); /* what is made once */
    adp_subject_destroy(&subject, &instance);
    fail_allocations(&subject, &start);
    fail_bounds(&subject, param);
    fail_saved(&subject, &start, seed);
    fail_config(&subject, &start);
    adp_trial_doing(trial, "after creates that failed");
    adp_subject_must_create(&instance, &subject, &start);
    adp_subject_destroy(&subject, &instance);
}
