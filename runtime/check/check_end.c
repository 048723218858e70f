/* SPDX-License-Identifier: MIT */
/* What a policy does when the process that hosts it ends. Code is never unmapped (loader.h),
 * so this is when its destructors run, and what it has registered with atexit, on_exit and
 * for the end of the thread.
 *
 *  1. It happens in a process of its own, which says by a word in shared memory that it
 *     came to its end: the handlers of an exit can make it look like any other.
 *  2. What was registered in our own process before is not run: below the policy's handlers
 *     lies ours, which calls the destructors and goes no further (child.h). */
#include "runtime/check/checks.h"

#include "runtime/check/child.h"
#include "runtime/check/dynamic.h"
#include "runtime/check/process.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <stdlib.h>

enum { STATUS = 77, REQUESTS = 500 };

struct end {
    struct adp_trial *trial;
    struct adp_process *before, *after;
    uint32_t objects; /* that were mapped before the policy */
    uint32_t reached; /* all has run, and nothing was changed */
};

/* --- destructors --- */

struct unload {
    const struct end *end;
    uint32_t seen;
};

static int count_one(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)info;
    (void)size;
    ++*(uint32_t *)ctx;
    return 0;
}

/* As the dynamic linker does: the last of the array first, then the one by itself. atexit's
 * handlers are among them, those not run yet. */
static void run_destructors(uintptr_t base, const ElfW(Dyn) * d)
{
    void (**array)(void) = NULL;
    void (*last)(void) = NULL;
    size_t n = 0;
    for (; d->d_tag != DT_NULL; d++) {
        uintptr_t at = adp_dynamic_address(base, d);
        if (d->d_tag == DT_FINI_ARRAY)
            array = (void (**)(void))at;
        else if (d->d_tag == DT_FINI_ARRAYSZ)
            n = d->d_un.d_val / sizeof *array;
        else if (d->d_tag == DT_FINI)
            last = (void (*)(void))at;
    }
    while (array && n)
        array[--n]();
    if (last)
        last();
}

/* Those that came with the policy stand behind those that were there. */
static int unload_one(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct unload *u = ctx;
    (void)size;
    if (u->seen++ < u->end->objects)
        return 0;
    const ElfW(Dyn) *dynamic = adp_dynamic_of(info);
    if (dynamic)
        run_destructors(info->dlpi_addr, dynamic);
    return 0;
}

/* --- the end --- */

static void look(const struct end *end, const char *what)
{
    adp_trial_at(end->trial, ADP_CALL_NONE);
    adp_process_read(end->after);
    adp_process_compare(end->trial, what, end->before, end->after);
    adp_process_compare_made(end->trial, what, end->before, end->after);
}

/* Runs after every handler of the policy's: it was registered before them. */
static void judge_end(int status, void *ctx)
{
    struct end *end = ctx;
    struct unload u = { end, 0 };
    if (status != STATUS)
        adp_trial_fail(end->trial,
                       "it calls exit, with status %d, in a handler that runs at exit",
                       status);
    look(end, "a handler that runs at exit");
    adp_trial_at(end->trial, ADP_CALL_UNLOAD);
    dl_iterate_phdr(unload_one, &u);
    look(end, "a destructor");
    end->reached = 1;
}

static void live_and_end(void *ctx)
{
    struct end *end = ctx;
    struct adp_subject subject;
    struct adp_play play;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = end->trial->seed;
    dl_iterate_phdr(count_one, &end->objects);
    adp_process_set_odd(end->trial->scratch);
    if (on_exit(judge_end, end) != 0)
        adp_trial_skip(end->trial, "no handler can be registered");
    adp_trap_fence(end->trial);
    adp_process_open_odd();
    adp_subject_load(&subject, end->trial, end->trial->path);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_plan plan = { .seed = seed, .every_end = true };
    struct adp_start start = { .param = param };
    adp_play_open(&play, &subject, &plan, &start);
    for (uint32_t i = 0; i < REQUESTS; i++)
        adp_play_step(&play);
    adp_play_close(&play);
    adp_process_read(end->before);
    adp_trial_at(end->trial, ADP_CALL_EXIT);
    exit(STATUS);
}

void adp_check_ends_quietly(struct adp_trial *trial)
{
    struct end *end = adp_trial_shared(trial, sizeof *end);
    struct adp_child child;
    *end = (struct end) { .trial = trial,
                          .before = adp_trial_shared(trial, sizeof *end->before),
                          .after = adp_trial_shared(trial, sizeof *end->after) };
    struct adp_child_limit limit = { trial->limit_ms / 2, NULL, false };
    adp_child_run(&child, limit, live_and_end, end);
    child.finished = end->reached == 1;
    adp_trial_take_child(trial, &child, limit.ms, "");
}
