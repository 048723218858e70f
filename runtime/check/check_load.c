/* SPDX-License-Identifier: MIT */
/* What loading a policy does to the process. */
#include "runtime/check/checks.h"

#include "runtime/check/child.h"
#include "runtime/check/copies.h"
#include "runtime/check/process.h"
#include "runtime/check/timing.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A reload waits for it. Reading and hashing the file is in it: a large one takes some
 * milliseconds. */
enum { MOST_MS = 1000 };

static void map(struct adp_trial *trial)
{
    const struct adp_policy *entry;
    struct adp_error err = { 0 };
    adp_trap_fence(trial);
    adp_trial_at(trial, ADP_CALL_LOAD);
    if (adp_loader_map(&entry, trial->path, trial->sha256, &err) < 0)
        adp_trial_fail(trial, "the file %s", err.text);
    adp_trial_at(trial, ADP_CALL_NONE);
}

void adp_check_loads(struct adp_trial *trial)
{
    if (clearenv() != 0 || chdir("/") != 0)
        adp_trial_skip(trial, "the environment cannot be emptied");
    double wall = adp_timing_ms(CLOCK_MONOTONIC),
           cpu = adp_timing_ms(CLOCK_PROCESS_CPUTIME_ID);
    map(trial);
    cpu = adp_timing_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = adp_timing_ms(CLOCK_MONOTONIC) - wall;
    /* Waiting for the processor is no fault of the policy's, sleeping is. */
    if (cpu > MOST_MS || wall > 2 * MOST_MS)
        adp_trial_fail(trial,
                       "loading took %.0f ms, %.0f ms of it computing, expected at "
                       "most %d",
                       wall, cpu, MOST_MS);
    adp_trial_note(trial, "in %.1f ms", wall);
}

struct look {
    struct adp_trial *trial;
    struct adp_process *before, *after;
    bool others; /* with those signals blocked that are open otherwise */
    bool filtered;
};

static void map_watched(void *ctx)
{
    struct look *look = ctx;
    struct adp_trial *trial = look->trial;
    adp_process_set_odd(trial->scratch);
    if (look->others)
        adp_process_block_others();
    adp_trap_fence(trial); /* what a filter itself changes is changed before we look */
    adp_process_open_odd();
    look->filtered =
        adp_trap_set(trial, ADP_TRAP_MAKING) && adp_trap_set(trial, ADP_TRAP_SETTING);
    adp_process_read(look->before);
    map(trial);
    adp_process_read(look->after);
    adp_process_compare(trial, "loading it", look->before, look->after);
    adp_process_compare_made(trial, "loading it", look->before, look->after);
}

/* A file is loaded once in a process: from the other start in one of its own. */
void adp_check_load_changes_nothing(struct adp_trial *trial)
{
    struct look look = { .trial = trial,
                         .before = adp_trial_shared(trial, sizeof *look.before),
                         .after = adp_trial_shared(trial, sizeof *look.after),
                         .others = true };
    struct adp_child_limit limit = { trial->limit_ms / 2, NULL, false };
    struct adp_child child;
    adp_child_run(&child, limit, map_watched, &look);
    adp_trial_take_child(trial, &child, limit.ms, "with most signals blocked ");
    look.others = false;
    map_watched(&look);
    if (!look.filtered)
        adp_trial_note(trial, "sockets and threads that are gone again were not looked "
                              "for: this system allows no filter");
}

/* Both alive at once, as two generations of a reload are. */
void adp_check_copy_is_apart(struct adp_trial *trial)
{
    enum { REQUESTS = 4000 };
    struct adp_subject first, second;
    struct adp_play here, there;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    uint32_t n = adp_trial_share(trial, REQUESTS);
    char path[1200], a[200], b[200];
    adp_copies_write(trial, 1, path, sizeof path);
    adp_subject_load(&first, trial, trial->path);
    adp_subject_load(&second, trial, path);
    adp_subject_params(&first, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_plan plan = { .seed = seed };
    struct adp_start start = { .param = param };
    adp_play_open(&here, &first, &plan, &start);
    adp_play_open(&there, &second, &plan, &start);
    for (uint32_t i = 0; i < n; i++) {
        struct adp_said x = adp_play_step(&here), y = adp_play_step(&there);
        if (!adp_verdict_same(&x, &y))
            adp_trial_fail(trial,
                           "on request %u the policy %s, a copy of its file that is "
                           "loaded beside it %s",
                           i + 1, adp_verdict_words(&x, a, sizeof a),
                           adp_verdict_words(&y, b, sizeof b));
    }
    adp_play_close(&here);
    adp_play_close(&there);
}
