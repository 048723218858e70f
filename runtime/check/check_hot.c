/* SPDX-License-Identifier: MIT */
/* What decide and outcome cost the thread that calls them. */
#include "runtime/check/checks.h"

#include "runtime/check/hooks.h"
#include "runtime/check/sanitized.h"
#include "runtime/check/timing.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* As it comes by default, and with all its readings there or none; then with parameters of
 * any kind. Of tenants and sessions there is no end, and priorities are of any size. */
enum { SETS = 6 };

static const enum adp_presence presences[] = { ADP_PRESENCE_MIXED, ADP_PRESENCE_ALL,
                                               ADP_PRESENCE_NONE };
enum { PRESENCES = sizeof presences / sizeof presences[0] };

/* The play of a set, or none: create may refuse random parameters. Those of `param` stay
 * in use. */
static bool open_set(struct adp_play *play, const struct adp_subject *subject,
                     uint32_t set, uint64_t *seed, double param[ADP_MAX_PARAMS])
{
    struct adp_start start = { .param = param };
    adp_subject_params(subject, set < PRESENCES ? ADP_VALUES_TYPICAL : ADP_VALUES_RANDOM,
                       seed, param);
    struct adp_plan plan = { .seed = adp_subject_next(seed),
                             .presence = presences[set % PRESENCES],
                             .every_end = true,
                             .many = true };
    if (set >= PRESENCES && !adp_subject_takes(subject, &start))
        return false;
    adp_play_open(play, subject, &plan, &start);
    return true;
}

/* Most of the requests are asked of the first. */
static uint32_t requests_of(const struct adp_trial *trial, uint32_t set, uint32_t n)
{
    uint32_t share = adp_trial_share(trial, n) / (set ? SETS : 1);
    return share ? share : 1;
}

/* --- R1 --- */

static void must_not_have_allocated(const struct adp_play *play, uint64_t calls,
                                    const char *where, uint32_t request)
{
    if (adp_hooks_memory().calls != calls)
        adp_trial_fail(play->subject->trial, "it allocates memory in %s, on request %u",
                       where, request);
}

static void play_counted(struct adp_play *play, uint32_t n)
{
    enum { NOISE = 1 << 14 };
    struct adp_answer answer;
    uint64_t calls = adp_hooks_memory().calls;
    size_t heap = mallinfo2().uordblks;
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_view *view = adp_traffic_next(&play->traffic);
        adp_subject_decide(play->subject, &play->instance, view, &answer);
        must_not_have_allocated(play, calls, "decide", i + 1);
        adp_traffic_answered(&play->traffic, &play->instance, &answer.verdict);
        must_not_have_allocated(play, calls, "outcome", i + 1);
    }
    adp_traffic_settle(&play->traffic, &play->instance, 0);
    must_not_have_allocated(play, calls, "outcome", n);
    size_t after = mallinfo2().uordblks;
    if (after > heap + NOISE)
        adp_trial_fail(play->subject->trial, "%u requests let the heap grow by %zu bytes",
                       n, after - heap);
}

/* --- on a small stack ---
 *
 * Whoever calls may have a thread of a pool, with a quarter of a megabyte of stack, half of
 * which is its own. So there is half for the policy, some for us, and below it a wide place
 * that nobody may touch. */

enum { OUR_STACK = ADP_SANITIZED ? 1 << 20 : 1 << 14 };
enum { POLICYS_STACK = ADP_HOT_STACK, BELOW = 64 << 20 };

static struct {
    struct adp_trial *trial;
    const unsigned char *from, *to; /* where nobody may touch */
} below;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const unsigned char *at = info->si_addr;
    char where[200];
    (void)context;
    if (at < below.from || at >= below.to) {
        signal(sig, SIG_DFL); /* another fault: it happens again */
        return;
    }
    adp_trial_where(below.trial->slate, where, sizeof where);
    adp_trial_mend(below.trial, ADP_MEND_LESS_STACK);
    adp_trial_fail(below.trial, "it needs more than %d KiB of stack %s",
                   POLICYS_STACK / 1024, where);
}

struct hot {
    struct adp_play *play;
    uint32_t n;
};

static void *play_on_small_stack(void *ctx)
{
    static unsigned char spare[1 << 16]; /* for the signal's handler */
    const struct hot *hot = ctx;
    stack_t stack = { .ss_sp = spare, .ss_size = sizeof spare };
    stack_t none = { .ss_flags = SS_DISABLE };
    sigaltstack(&stack, NULL);
    play_counted(hot->play, hot->n);
    sigaltstack(&none, NULL);
    return NULL;
}

static void *make_stack(struct adp_trial *trial)
{
    const size_t bytes = OUR_STACK + POLICYS_STACK;
    unsigned char *at = mmap(NULL, BELOW + bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(at + BELOW, bytes, PROT_READ | PROT_WRITE) != 0)
        adp_trial_skip(trial, "no memory for a stack");
    below.trial = trial;
    below.from = at;
    below.to = at + BELOW;
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    return at + BELOW;
}

static void run_on(struct adp_trial *trial, void *stack, struct hot *hot)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, OUR_STACK + POLICYS_STACK) != 0)
        adp_trial_skip(trial, "no thread can be made");
    adp_trap_thread(trial, &thread, &attr, play_on_small_stack, hot);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

void adp_check_allocates_nothing(struct adp_trial *trial)
{
    enum { REQUESTS = 50000 };
    struct adp_subject subject;
    struct adp_play *play = adp_trial_shared(trial, sizeof *play);
    void *stack = make_stack(trial);
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    adp_hooks_prepare(trial);
    adp_subject_load(&subject, trial, trial->path);
    adp_hooks_watch_memory();
    for (uint32_t set = 0; set < SETS; set++) {
        if (!open_set(play, &subject, set, &seed, param))
            continue;
        struct hot hot = { play, requests_of(trial, set, REQUESTS) };
        run_on(trial, stack, &hot);
        adp_play_close(play);
    }
}

/* --- R2 --- */

/* The instances are made before the filter, and stay: destroy may ask the system for what
 * it wants. */
void adp_check_makes_no_system_call(struct adp_trial *trial)
{
    enum { REQUESTS = 20000 };
    struct adp_subject subject;
    struct adp_play *play = adp_trial_shared(trial, SETS * sizeof *play);
    double param[SETS][ADP_MAX_PARAMS];
    bool open[SETS];
    uint64_t seed = trial->seed;
    adp_hooks_prepare(trial);
    adp_subject_load(&subject, trial, trial->path);
    for (uint32_t set = 0; set < SETS; set++)
        open[set] = open_set(&play[set], &subject, set, &seed, param[set]);
    adp_hooks_stop_clock();
    if (!adp_trap_set(trial, ADP_TRAP_ALL))
        adp_trial_lack(trial, "this system allows no filter of system calls");
    for (uint32_t set = 0; set < SETS; set++) {
        uint32_t n = open[set] ? requests_of(trial, set, REQUESTS) : 0;
        trial->slate->view = 0;
        for (uint32_t i = 0; i < n; i++)
            adp_play_step(&play[set]);
        adp_traffic_settle(&play[set].traffic, &play[set].instance, 0);
    }
}

/* --- R3 --- */

enum { BATCHES = 5, BATCH = 4000 };

static int by_size(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Nearest rank. */
static uint64_t percentile(const uint64_t *sorted, uint32_t n, uint32_t p)
{
    return sorted[(n * p + 99) / 100 - 1];
}

/* One batch: ns of each decide, what reading the clock costs taken off, in order. */
static void measure(struct adp_play *play, uint64_t *ns, uint64_t clock_ns)
{
    struct adp_answer answer;
    for (uint32_t i = 0; i < BATCH; i++) {
        const struct adp_view *view = adp_traffic_next(&play->traffic);
        memset(&answer, 0, sizeof answer);
        answer.verdict.size = sizeof answer.verdict;
        answer.verdict.binding = ADP_NONE;
        uint64_t from = adp_timing_ns(CLOCK_MONOTONIC);
        play->subject->policy->decide(play->instance.self, view, &answer.verdict);
        uint64_t took = adp_timing_ns(CLOCK_MONOTONIC) - from;
        ns[i] = took > clock_ns ? took - clock_ns : 0;
        adp_traffic_answered(&play->traffic, &play->instance, &answer.verdict);
    }
    qsort(ns, BATCH, sizeof *ns, by_size);
}

static uint64_t clock_cost(uint64_t *ns)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        uint64_t from = adp_timing_ns(CLOCK_MONOTONIC);
        ns[i] = adp_timing_ns(CLOCK_MONOTONIC) - from;
    }
    qsort(ns, BATCH, sizeof *ns, by_size);
    return percentile(ns, BATCH, 50);
}

/* The best of some batches: what else runs on the machine can only make it slower. */
void adp_check_keeps_to_budget(struct adp_trial *trial)
{
    struct adp_subject subject;
    struct adp_play play;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed, p50 = UINT64_MAX, p99 = UINT64_MAX;
    uint64_t budget = trial->options->budget_ns;
    uint64_t *ns = adp_trial_shared(trial, BATCH * sizeof *ns);
    adp_subject_load(&subject, trial, trial->path);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_plan plan = { .seed = seed, .no_edges = true };
    struct adp_start start = { .param = param };
    uint64_t clock_ns = clock_cost(ns);
    adp_play_open(&play, &subject, &plan, &start);
    for (uint32_t i = 0; i < BATCHES; i++) {
        adp_trial_at(trial, ADP_CALL_DECIDE);
        measure(&play, ns, clock_ns);
        uint64_t half = percentile(ns, BATCH, 50), most = percentile(ns, BATCH, 99);
        p50 = half < p50 ? half : p50;
        p99 = most < p99 ? most : p99;
    }
    adp_play_close(&play);
    if (budget && p99 > budget)
        adp_trial_fail(trial,
                       "decide takes %llu ns at the 99th percentile (median %llu), "
                       "the budget is %llu",
                       (unsigned long long)p99, (unsigned long long)p50,
                       (unsigned long long)budget);
    adp_trial_note(trial, "p50 %llu ns, p99 %llu ns%s", (unsigned long long)p50,
                   (unsigned long long)p99, budget ? "" : "; no budget was given");
}
