/* SPDX-License-Identifier: MIT */
/* What loading a policy does to the process. */
#include "runtime/check/checks.h"

#include "runtime/check/copies.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A reload waits for it. Reading and hashing the file is in it: a large one takes some
 * milliseconds. */
enum { MOST_MS = 1000 };

static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void map(struct adp_trial *trial)
{
    const struct adp_policy *entry;
    struct adp_error err = { 0 };
    adp_trial_at(trial, ADP_CALL_LOAD);
    if (adp_loader_map(&entry, trial->path, trial->sha256, &err) < 0)
        adp_trial_fail(trial, "the file %s", err.text);
    adp_trial_at(trial, ADP_CALL_NONE);
}

void adp_check_loads(struct adp_trial *trial)
{
    if (clearenv() != 0 || chdir("/") != 0)
        adp_trial_skip(trial, "the environment cannot be emptied");
    double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    map(trial);
    cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = now_ms(CLOCK_MONOTONIC) - wall;
    /* Waiting for the processor is no fault of the policy's, sleeping is. */
    if (cpu > MOST_MS || wall > 2 * MOST_MS)
        adp_trial_fail(trial,
                       "loading took %.0f ms, %.0f ms of it computing, expected at "
                       "most %d",
                       wall, cpu, MOST_MS);
    adp_trial_note(trial, "in %.1f ms", wall);
}

/* --- what a process has --- */

enum { MOST_FDS = 1024, MOST_ENV = 1 << 16 };

struct process {
    uint64_t fpu; /* control bits of the floating-point unit */
    int rounding;
    struct sigaction signals[NSIG];
    char locale[512], folder[1024];
    mode_t umask;
    size_t environment_bytes;
    uint32_t threads, n_fds;
    char environment[MOST_ENV];
    char fds[MOST_FDS][64]; /* what descriptor i is; "": not open */
};

/* Rounding, traps, and whether small numbers are flushed to 0; not the flags that any
 * operation raises. */
static uint64_t fpu_mode(void)
{
#if defined __x86_64__
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (mxcsr & ~UINT32_C(0x3f)) | (uint64_t)x87 << 32;
#elif defined __aarch64__
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#endif
}

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

static void read_fds(struct process *p)
{
    memset(p->fds, 0, sizeof p->fds);
    for (int fd = 0; fd < MOST_FDS; fd++) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, p->fds[fd], sizeof p->fds[fd] - 1);
        p->fds[fd][n > 0 ? n : 0] = '\0';
    }
}

static void read_environment(struct process *p)
{
    size_t at = 0;
    for (char **e = environ; e && *e; e++) {
        size_t n = strlen(*e) + 1;
        if (at + n > sizeof p->environment)
            break;
        memcpy(p->environment + at, *e, n);
        at += n;
    }
    p->environment_bytes = at;
}

static void read_process(struct process *p)
{
    const char *locale = setlocale(LC_ALL, NULL);
    p->fpu = fpu_mode();
    p->rounding = fegetround();
    for (int s = 1; s < NSIG; s++) {
        memset(&p->signals[s], 0, sizeof p->signals[s]);
        sigaction(s, NULL, &p->signals[s]);
    }
    snprintf(p->locale, sizeof p->locale, "%s", locale ? locale : "");
    if (!getcwd(p->folder, sizeof p->folder))
        p->folder[0] = '\0';
    p->umask = umask(0);
    umask(p->umask);
    read_environment(p);
    p->threads = count_entries("/proc/self/task");
    read_fds(p);
}

static void compare_signals(struct adp_trial *trial, const struct process *a,
                            const struct process *b)
{
    for (int s = 1; s < NSIG; s++) {
        const char *name = sigabbrev_np(s);
        if (a->signals[s].sa_handler != b->signals[s].sa_handler ||
            a->signals[s].sa_flags != b->signals[s].sa_flags)
            adp_trial_fail(trial, "loading it changed what happens on signal %d (%s%s)",
                           s, name ? "SIG" : "", name ? name : "unnamed");
    }
}

/* The loader's own copy stays open, as a file in memory under the policy's name. */
static void compare_fds(struct adp_trial *trial, const struct process *a,
                        const struct process *b)
{
    bool own = false;
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (strcmp(a->fds[fd], b->fds[fd]) == 0)
            continue;
        if (!a->fds[fd][0] && !own && strncmp(b->fds[fd], "/memfd:", 7) == 0) {
            own = true;
            continue;
        }
        adp_trial_fail(trial, "loading it %s descriptor %d: %s",
                       !a->fds[fd][0]   ? "opened"
                       : !b->fds[fd][0] ? "closed"
                                        : "changed",
                       fd, b->fds[fd][0] ? b->fds[fd] : a->fds[fd]);
    }
}

static void compare(struct adp_trial *trial, const struct process *a,
                    const struct process *b)
{
    if (a->fpu != b->fpu || a->rounding != b->rounding)
        adp_trial_fail(trial,
                       "loading it changed the floating-point mode of the thread that "
                       "loads: 0x%llx before, 0x%llx after",
                       (unsigned long long)a->fpu, (unsigned long long)b->fpu);
    compare_signals(trial, a, b);
    if (strcmp(a->locale, b->locale) != 0)
        adp_trial_fail(trial,
                       "loading it changed the locale: %.100s before, %.100s after",
                       a->locale, b->locale);
    if (strcmp(a->folder, b->folder) != 0)
        adp_trial_fail(trial,
                       "loading it changed the current directory: %.100s before, %.100s "
                       "after",
                       a->folder, b->folder);
    if (a->umask != b->umask)
        adp_trial_fail(trial, "loading it changed the umask: %03o before, %03o after",
                       a->umask, b->umask);
    if (a->environment_bytes != b->environment_bytes ||
        memcmp(a->environment, b->environment, a->environment_bytes) != 0)
        adp_trial_fail(trial, "loading it changed the environment");
    if (a->threads != b->threads)
        adp_trial_fail(trial,
                       "loading it changed the number of threads: %u before, %u "
                       "after",
                       a->threads - 2, b->threads - 2); /* "." and ".." */
    compare_fds(trial, a, b);
}

void adp_check_load_changes_nothing(struct adp_trial *trial)
{
    struct process *before = adp_trial_shared(trial, sizeof *before);
    struct process *after = adp_trial_shared(trial, sizeof *after);
    bool filtered = adp_trap_set(trial, ADP_TRAP_MAKING);
    read_process(before);
    map(trial);
    read_process(after);
    compare(trial, before, after);
    if (!filtered)
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
