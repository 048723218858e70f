/* SPDX-License-Identifier: MIT */
/* What several threads, and a forked process, make of a policy. */
#include "runtime/check/checks.h"

#include "runtime/check/child.h"
#include "runtime/check/timing.h"
#include "runtime/check/traffic.h"
#include "runtime/check/trap.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* --- C1 --- */

enum { THREADS = 4, REQUESTS = 500, AGAIN = 16 };
/* How long they are left to each other: all three of these, but no longer than that. */
enum { MILLISECONDS = 300, DECISIONS = 400000, STOPS = 100, LONGEST_MS = 3000 };
enum { STEP_NS = 50000, PATIENCE = 400, PATIENCE_FOR_ONE = 10 };
enum { ROOM = ADP_TRAFFIC_PENDING }; /* of one request, that can be counted */

/* After how many instructions of a call it stops next. */
struct sweep {
    uint32_t at, times;
};

/* One who takes until there is no more, gives some back, and takes again. */
struct greed {
    const struct sweep *taking, *giving; /* of the one that leads; or NULL */
    uint64_t ticket[ROOM];               /* that it has not given back */
    uint32_t n, refused, patience;
    uint64_t seed;
};

/* What all of them hold. A ticket is counted once it is there, and no more before it comes
 * back: never more than the policy has given. */
struct holdings {
    _Atomic uint32_t now, most;
};

/* Shared by the threads of one run. */
struct crowd {
    const struct adp_subject *subject; /* of the whole check */
    struct adp_instance *instance;     /* one, for all of them */
    bool stateless;                    /* each answer is known beforehand */
    uint32_t end;   /* of what it gives back, where it is one for all */
    uint32_t spent; /* they leave off when so much of the check's limit is */
    uint64_t span_ns, longest_ns, least_turns, least_stops;
    bool led; /* the first one alone stops, by itself, and calls another one meanwhile */
    sem_t called; /* that one */
    struct holdings holdings;
    _Atomic uint64_t turns; /* decisions */
    _Atomic uint64_t stops; /* of a thread, while the others went on */
    _Atomic bool aside;     /* one is stopped, or is about to be */
    _Atomic bool over;      /* they are to leave off */
    pthread_barrier_t start;
};

struct member {
    struct crowd *crowd;
    struct adp_plan plan;
    double param[ADP_MAX_PARAMS];
    struct adp_said expected[REQUESTS];
    struct greed greed;
    bool leads; /* of a crowd that is led */
};

/* Any thread: the slate has room for one word, and whoever is first has it. */
static void judge(const struct member *m, uint32_t i, const struct adp_verdict *w)
{
    const struct adp_subject *subject = m->crowd->subject;
    struct adp_said said = adp_verdict_said(w);
    char fault[200], alone[200], among[200];
    if (adp_verdict_usable(w) &&
        adp_verdict_fault(subject->policy, w, fault, sizeof fault))
        adp_trial_fail(subject->trial, "among %d threads: %s", THREADS, fault);
    if (m->crowd->stateless && !adp_verdict_same(&said, &m->expected[i]))
        adp_trial_fail(subject->trial,
                       "alone it %s, among %d threads the same request %s",
                       adp_verdict_words(&m->expected[i], alone, sizeof alone), THREADS,
                       adp_verdict_words(&said, among, sizeof among));
}

static void decide(const struct member *m, uint32_t i, const struct adp_view *view,
                   struct adp_answer *ret)
{
    const struct crowd *crowd = m->crowd;
    *ret = (struct adp_answer) { .verdict = { .size = sizeof ret->verdict,
                                              .binding = ADP_NONE } };
    crowd->subject->policy->decide(crowd->instance->self, view, &ret->verdict);
    atomic_fetch_add_explicit(&m->crowd->turns, 1, memory_order_relaxed);
    judge(m, i, &ret->verdict);
}

/* The same stream again and again: in a few milliseconds the threads of a busy machine
 * may not have met once. Who has no state is asked each request often, so that most of
 * the time is spent where they can meet. */
static void *run(void *ctx)
{
    struct member *m = ctx;
    struct crowd *crowd = m->crowd;
    struct adp_traffic t;
    struct adp_answer answer;
    uint32_t again = crowd->stateless ? AGAIN : 1;
    pthread_barrier_wait(&crowd->start);
    while (!atomic_load(&crowd->over)) {
        adp_traffic_init(&t, crowd->subject, &m->plan, m->param);
        for (uint32_t i = 0; i < REQUESTS && !atomic_load(&crowd->over); i++) {
            const struct adp_view *view = adp_traffic_next(&t);
            for (uint32_t k = 1; k < again; k++)
                decide(m, i, view, &answer);
            decide(m, i, view, &answer);
            adp_traffic_answered(&t, crowd->instance, &answer.verdict);
        }
        adp_traffic_settle(&t, crowd->instance, 0);
    }
    return NULL;
}

static struct crowd *_Atomic disturbed; /* a signal's handler is told nothing else */

/* Until each of the others can have come by, or the one that is called, however busy the
 * machine is; they may be ending, or wait for a lock that this one has, so not for ever. */
static void stand_aside(int signal)
{
    struct crowd *crowd = atomic_load(&disturbed);
    struct timespec step = { 0, STEP_NS };
    uint64_t turns = atomic_load(&crowd->turns), least = crowd->led ? 1 : THREADS;
    int patience = crowd->led ? PATIENCE_FOR_ONE : PATIENCE;
    (void)signal;
    if (crowd->led)
        sem_post(&crowd->called);
    for (int i = 0; i < patience && !atomic_load(&crowd->over); i++) {
        if (atomic_load(&crowd->turns) - turns >= least) {
            atomic_fetch_add(&crowd->stops, 1);
            break;
        }
        nanosleep(&step, NULL);
    }
    atomic_store(&crowd->aside, false);
}

/* Percent of the time that the check may compute: threads on many processors, and a decide that
 * takes its time, come near it within seconds. */
enum { SPENT_BEFORE = 40, SPENT_AFTER = 70 };

static bool is_spent(const struct adp_trial *trial, uint32_t percent)
{
    return adp_timing_ms(CLOCK_PROCESS_CPUTIME_ID) * 100.0 >=
           (double)trial->limit_ms * percent;
}

static bool is_enough(const struct crowd *crowd, uint64_t start_ns)
{
    uint64_t ns = adp_timing_ns(CLOCK_MONOTONIC) - start_ns;
    return ns >= crowd->longest_ns || is_spent(crowd->subject->trial, crowd->spent) ||
           (ns >= crowd->span_ns && atomic_load(&crowd->turns) >= crowd->least_turns &&
            atomic_load(&crowd->stops) >= crowd->least_stops);
}

/* Stops one thread after the other wherever it is, mostly in the middle of decide, and
 * lets the others go first: on one busy processor they would hardly ever meet there. */
static void disturb(struct crowd *crowd, const pthread_t *threads)
{
    struct timespec step = { 0, STEP_NS };
    uint64_t start_ns = adp_timing_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; !is_enough(crowd, start_ns); i++) {
        atomic_store(&crowd->aside, true);
        if (!crowd->led)
            pthread_kill(threads[i % THREADS], SIGUSR1);
        while (atomic_load(&crowd->aside) && !is_enough(crowd, start_ns))
            nanosleep(&step, NULL);
    }
    atomic_store(&crowd->over, true);
}

static void start(struct adp_trial *trial, struct crowd *crowd, struct member *members,
                  void *(*work)(void *member))
{
    struct sigaction action = { .sa_handler = stand_aside, .sa_flags = SA_RESTART };
    pthread_t threads[THREADS];
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&disturbed, crowd);
    sem_init(&crowd->called, 0, 0);
    for (int i = 0; i < THREADS; i++)
        adp_trap_thread(trial, &threads[i], NULL, work, &members[i]);
    disturb(crowd, threads);
    for (int i = 0; i < THREADS; i++)
        sem_post(&crowd->called);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&crowd->called);
}

/* --- what is held when all has come back ---
 *
 * A count that is no more than ++ and -- loses some where threads meet, and a request that
 * did not run, or of which nothing was measured, leaves nothing else behind: ten years later
 * there is room for as many as in a new instance. Where one thread alone leaves less, too, the
 * policy has another reason.
 *
 * What is counted may be counted only where there are readings, or a tenant, and taken back in
 * one way by one end and in another by the other: so there are rounds. In those that are greedy
 * all that it has room for is held, and most requests are refused. There it may not have more
 * out at a time either than one thread gets that asks for the same: but only where nothing is
 * done, since of what is done it may learn, by how threads meet, that it can take more.
 *
 * A few instructions between looking and counting are hardly met by chance. So there are rounds
 * where one of them leads: it takes all there is, and then gives one back and takes it again,
 * always at the last place, and stops after its first instruction, the second, and so on, until
 * another one has taken one or given it back. */

enum { UNTIL_FULL = 8, ALONE = 20000, TRIES = 8, MOST_PATIENT = 64 };
/* How long a round takes: all three of these, but no longer than that. */
enum {
    ROUND_MS = 120,
    ROUND_DECISIONS = 200000,
    ROUND_STOPS = 50,
    ROUND_STOPS_LED = 400,
    ROUND_LONGEST_LED_MS = 300,
    ROUND_LONGEST_MS = 1000
};

static const struct round {
    enum adp_presence presence; /* of all that a request may have */
    uint32_t end;               /* enum adp_end of every outcome */
    bool greedy, led;
} rounds[] = {
    { ADP_PRESENCE_NONE, ADP_NOT_RUN, false, false },
    { ADP_PRESENCE_ALL, ADP_NOT_RUN, false, false },
    { ADP_PRESENCE_NONE, ADP_DONE, false, false },
    { ADP_PRESENCE_ALL, ADP_DONE, false, false },
    { ADP_PRESENCE_ALL, ADP_NOT_RUN, false, false },
    { ADP_PRESENCE_ALL, ADP_DONE, false, false },
    { ADP_PRESENCE_NONE, ADP_NOT_RUN, true, false },
    { ADP_PRESENCE_ALL, ADP_NOT_RUN, true, false },
    { ADP_PRESENCE_ALL, ADP_FAILED, true, false },
    { ADP_PRESENCE_NONE, ADP_NOT_RUN, true, true },
    { ADP_PRESENCE_ALL, ADP_NOT_RUN, true, true },
};
enum { ROUNDS = sizeof rounds / sizeof rounds[0] };

/* --- one instruction after the other --- */

enum { TIMES = 3 }; /* that it stops at the same one */

static volatile uint32_t steps_left; /* of the thread that leads; 0: it came so far */

static void go_further(struct sweep *s)
{
    if (steps_left)
        *s = (struct sweep) { 0 };
    else if (++s->times == TIMES)
        *s = (struct sweep) { .at = s->at + 1 };
}

#if defined __x86_64__
enum { CAN_STEP = 1, TRAP_FLAG = 0x100 };

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *of = context;
    (void)info;
    if (steps_left && --steps_left)
        return;
    of->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    stand_aside(signal);
}

/* The stack below may hold what a function has put there without moving its pointer. */
static void begin_steps(const struct sweep *s)
{
    struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
    if (!s)
        return;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
    steps_left = 1 + s->at;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\t"
                     "popfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void end_steps(const struct sweep *s)
{
    if (!s)
        return;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\t"
                     "popfq\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}
#else
enum { CAN_STEP = 0 };

static void begin_steps(const struct sweep *s)
{
    (void)s;
}

static void end_steps(const struct sweep *s)
{
    (void)s;
}
#endif

static uint64_t ask(const struct adp_subject *subject, void *self,
                    const struct adp_view *view, const struct sweep *sweep)
{
    struct adp_answer a = { .verdict = { .size = sizeof a.verdict,
                                         .binding = ADP_NONE } };
    begin_steps(sweep);
    subject->policy->decide(self, view, &a.verdict);
    end_steps(sweep);
    return a.verdict.ticket;
}

static void give_back(const struct adp_subject *subject, void *self,
                      const struct adp_view *view, uint64_t ticket, uint32_t end,
                      const struct sweep *sweep)
{
    struct adp_outcome o = {
        .size = sizeof o, .kind = end, .ticket = ticket, .now_ns = view->now_ns
    };
    if (!ticket)
        return;
    begin_steps(sweep);
    subject->policy->outcome(self, &o);
    end_steps(sweep);
}

/* The member's request, in *t, once all of the crowd have theirs. */
static const struct adp_view *begin_with_others(struct member *m, struct adp_traffic *t)
{
    adp_traffic_init(t, m->crowd->subject, &m->plan, m->param);
    const struct adp_view *view = adp_traffic_next(t);
    pthread_barrier_wait(&m->crowd->start);
    return view;
}

/* One request over and over: most of the time is spent where they can meet. */
static void *run_one(void *ctx)
{
    struct member *m = ctx;
    struct crowd *crowd = m->crowd;
    const struct adp_subject *subject = crowd->subject;
    struct adp_traffic t;
    void *self = crowd->instance->self;
    const struct adp_view *view = begin_with_others(m, &t);
    while (!atomic_load_explicit(&crowd->over, memory_order_relaxed)) {
        give_back(subject, self, view, ask(subject, self, view, NULL), crowd->end, NULL);
        atomic_fetch_add_explicit(&crowd->turns, 1, memory_order_relaxed);
    }
    return NULL;
}

static void give_some(const struct adp_subject *subject, void *self,
                      const struct adp_view *view, uint32_t end, struct greed *g,
                      struct holdings *holdings, uint32_t some)
{
    for (uint32_t i = 0; i < some; i++) {
        atomic_fetch_sub(&holdings->now, 1);
        give_back(subject, self, view, g->ticket[--g->n], end, g->giving);
    }
}

/* Asks once, and keeps what it gets. */
static bool take(const struct adp_subject *subject, void *self,
                 const struct adp_view *view, uint32_t end, struct greed *g,
                 struct holdings *holdings)
{
    uint64_t ticket = ask(subject, self, view, g->taking);
    if (!ticket || g->n == ROOM) {
        give_back(subject, self, view, ticket, end, g->giving);
        return false;
    }
    uint32_t now = atomic_fetch_add(&holdings->now, 1) + 1;
    uint32_t most = atomic_load(&holdings->most);
    while (now > most && !atomic_compare_exchange_weak(&holdings->most, &most, now))
        ;
    g->ticket[g->n++] = ticket;
    return true;
}

/* Who was refused as often in a row as it bears gives some back, or all, or none. */
static void take_or_give(const struct adp_subject *subject, void *self,
                         const struct adp_view *view, uint32_t end, struct greed *g,
                         struct holdings *holdings)
{
    if (take(subject, self, view, end, g, holdings)) {
        g->refused = 0;
        return;
    }
    if (++g->refused < g->patience)
        return;
    uint64_t dice = adp_subject_next(&g->seed);
    g->patience = 1 + (uint32_t)(dice >> 32) % MOST_PATIENT;
    g->refused = 0;
    give_some(subject, self, view, end, g, holdings, (uint32_t)dice % (g->n + 1));
}

static void begin_greedy(struct member *members)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i].greed.n = members[i].greed.refused = 0;
        members[i].greed.patience = 1;
        members[i].greed.seed = members[0].plan.seed + i;
    }
}

static void *run_greedy(void *ctx)
{
    struct member *m = ctx;
    struct crowd *crowd = m->crowd;
    const struct adp_subject *subject = crowd->subject;
    struct adp_traffic t;
    void *self = crowd->instance->self;
    const struct adp_view *view = begin_with_others(m, &t);
    while (!atomic_load_explicit(&crowd->over, memory_order_relaxed)) {
        take_or_give(subject, self, view, crowd->end, &m->greed, &crowd->holdings);
        atomic_fetch_add_explicit(&crowd->turns, 1, memory_order_relaxed);
    }
    give_some(subject, self, view, crowd->end, &m->greed, &crowd->holdings, m->greed.n);
    return NULL;
}

static void lead(struct member *m, const struct adp_view *view)
{
    struct crowd *crowd = m->crowd;
    const struct adp_subject *subject = crowd->subject;
    void *self = crowd->instance->self;
    struct greed *g = &m->greed;
    struct sweep asking[2] = { { 0 } }, giving = { 0 }; /* when it has all, another way */
    bool all = false;
    g->giving = &giving;
    while (!atomic_load(&crowd->over)) {
        struct sweep *s = &asking[all];
        g->taking = s;
        bool took = take(subject, self, view, crowd->end, g, &crowd->holdings);
        if (!steps_left || took != all) /* else another one was there before */
            go_further(s);
        all = took;
        if (took || !g->n)
            continue;
        give_some(subject, self, view, crowd->end, g, &crowd->holdings, 1);
        go_further(&giving);
    }
    g->taking = g->giving = NULL;
}

/* The first of them leads; the others come when they are called: to give back, or to ask. */
static void *run_led(void *ctx)
{
    struct member *m = ctx;
    struct crowd *crowd = m->crowd;
    const struct adp_subject *subject = crowd->subject;
    struct adp_traffic t;
    struct greed *g = &m->greed;
    void *self = crowd->instance->self;
    const struct adp_view *view = begin_with_others(m, &t);
    if (m->leads)
        lead(m, view);
    while (!atomic_load(&crowd->over)) {
        while (sem_wait(&crowd->called) != 0)
            ;
        if (g->n > adp_subject_next(&g->seed) >> 63)
            give_some(subject, self, view, crowd->end, g, &crowd->holdings, 1);
        else
            take(subject, self, view, crowd->end, g, &crowd->holdings);
        atomic_fetch_add(&crowd->turns, 1);
    }
    give_some(subject, self, view, crowd->end, g, &crowd->holdings, g->n);
    return NULL;
}

/* How many of one request it takes, ten years on; they come back. */
static uint32_t room_in(const struct adp_subject *subject,
                        const struct adp_instance *instance, const struct member *m)
{
    const uint64_t years_ns = UINT64_C(10) * 365 * 86400 * 1000000000u;
    static uint64_t held[ROOM]; /* large */
    struct adp_traffic t;
    struct adp_answer answer;
    uint32_t n = 0;
    adp_traffic_init(&t, subject, &m->plan, m->param);
    t.now_ns += years_ns;
    const struct adp_view *view = adp_traffic_next(&t);
    for (uint32_t refused = 0; refused < UNTIL_FULL && n < ROOM; refused++) {
        adp_subject_decide(subject, instance, view, &answer);
        if (answer.verdict.action != ADP_ADMIT || !answer.verdict.ticket)
            continue;
        held[n++] = answer.verdict.ticket;
        refused = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        adp_subject_settle(subject, instance, held[i], ADP_NOT_RUN, view->now_ns);
    return n;
}

/* In an instance of its own; asked before by nobody, or by one thread, so many times, with so
 * many at a time (THREADS at most) that are not back. */
static uint32_t room_alone(const struct adp_subject *subject, const struct member *m,
                           uint32_t end, uint64_t asked, uint32_t at_once)
{
    struct adp_start start = { .param = m->param };
    struct adp_instance instance;
    struct adp_traffic t;
    uint64_t out[THREADS] = { 0 };
    adp_subject_must_create(&instance, subject, &start);
    adp_traffic_init(&t, subject, &m->plan, m->param);
    const struct adp_view *view = adp_traffic_next(&t);
    adp_trial_at(subject->trial, ADP_CALL_DECIDE);
    for (uint64_t i = 0; i < asked; i++) {
        uint64_t *ticket = &out[i % at_once];
        give_back(subject, instance.self, view, *ticket, end, NULL);
        *ticket = ask(subject, instance.self, view, NULL);
    }
    for (uint32_t i = 0; i < at_once; i++)
        give_back(subject, instance.self, view, out[i], end, NULL);
    uint32_t n = room_in(subject, &instance, m);
    adp_subject_destroy(subject, &instance);
    return n;
}

/* Whether all of them, as one thread, have never more out than there is room for in a new
 * instance, and there is as much room afterwards. */
static bool keeps_room(const struct adp_subject *subject, struct member *members,
                       uint32_t end, uint64_t asked, uint32_t room)
{
    struct adp_start start = { .param = members[0].param };
    struct holdings holdings = { 0 };
    struct adp_instance instance;
    struct adp_traffic t;
    uint64_t seed = members[0].plan.seed;
    adp_subject_must_create(&instance, subject, &start);
    adp_traffic_init(&t, subject, &members[0].plan, members[0].param);
    const struct adp_view *view = adp_traffic_next(&t);
    begin_greedy(members);
    adp_trial_at(subject->trial, ADP_CALL_DECIDE);
    for (uint64_t i = 0; i < asked; i++)
        take_or_give(subject, instance.self, view, end,
                     &members[adp_subject_next(&seed) % THREADS].greed, &holdings);
    for (int i = 0; i < THREADS; i++)
        give_some(subject, instance.self, view, end, &members[i].greed, &holdings,
                  members[i].greed.n);
    uint32_t left = room_in(subject, &instance, &members[0]);
    adp_subject_destroy(subject, &instance);
    return holdings.most == room && left == room;
}

/* Whether one thread that does as much leaves as much room as there was. */
static bool is_steady(const struct adp_subject *subject, struct member *members,
                      const struct round *round, uint64_t asked, uint32_t room)
{
    if (round->greedy)
        return keeps_room(subject, members, round->end, asked, room);
    return room_alone(subject, &members[0], round->end, asked, THREADS) == room;
}

/* A request of which it takes some, and a bounded number; 0: none is found. One by whose end it
 * learns how many it may take, even where nobody meets, is none. */
static uint32_t choose_request(const struct adp_subject *subject, struct member *members,
                               const struct round *round)
{
    struct member *m = &members[0];
    uint64_t seed = m->plan.seed;
    for (int i = 0; i < TRIES && !is_spent(subject->trial, SPENT_AFTER); i++) {
        m->plan = (struct adp_plan) { .seed = adp_subject_next(&seed),
                                      .presence = round->presence,
                                      .no_edges = true };
        uint32_t room = room_alone(subject, m, round->end, 0, 1);
        if (room && room < ROOM)
            return room_alone(subject, m, round->end, ALONE, 1) == room &&
                           is_steady(subject, members, round, ALONE, room)
                       ? room
                       : 0;
    }
    return 0;
}

/* By a debugger, to which each step would be told. */
static bool is_traced(void)
{
    char line[128];
    unsigned long tracer = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "TracerPid:", 10) == 0)
            tracer = strtoul(line + 10, NULL, 10);
    if (status)
        fclose(status);
    return tracer != 0;
}

static const char *word_of(uint32_t end)
{
    return end == ADP_DONE ? "done" : end == ADP_FAILED ? "failed" : "not run";
}

struct counted {
    uint32_t room, left, most;
    uint64_t asked;
};

static void judge_round(const struct adp_subject *subject, struct member *members,
                        const struct round *round, const struct counted *n)
{
    const char *with =
        round->presence == ADP_PRESENCE_ALL ? ", with readings and a tenant" : "";
    bool is_more = round->greedy && (n->most > n->room || n->left > n->room);
    /* It may be that it learns by so many, and by no fewer; and that refusals, which come
     * otherwise among threads, have it take more: only fewer are places that were lost. */
    if ((n->left >= n->room && !is_more) ||
        !is_steady(subject, members, round, n->asked, n->room))
        return;
    if (n->most > n->room)
        adp_trial_fail(subject->trial,
                       "%d threads have asked it%s, and had %u requests out at a time; "
                       "one thread never has more than %u",
                       THREADS, with, n->most, n->room);
    adp_trial_fail(subject->trial,
                   "%d threads have asked it%s, all their tickets came back as %s, "
                   "and it has room for %u requests, a new instance for %u",
                   THREADS, with, word_of(round->end), n->left, n->room);
}

/* In full, whatever the share: of a few meetings none may lose anything. */
static void must_hold_nothing(struct adp_trial *trial, const struct adp_subject *subject,
                              struct member *members, const struct round *round)
{
    struct adp_instance instance;
    struct crowd crowd = { .subject = subject,
                           .instance = &instance,
                           .end = round->end,
                           .span_ns = ROUND_MS * UINT64_C(1000000),
                           .longest_ns =
                               (round->led ? ROUND_LONGEST_LED_MS : ROUND_LONGEST_MS) *
                               UINT64_C(1000000),
                           .spent = SPENT_AFTER,
                           .least_turns = round->led ? 0 : ROUND_DECISIONS,
                           .least_stops = round->led ? ROUND_STOPS_LED : ROUND_STOPS,
                           .led = round->led };
    struct adp_start one = { .param = members[0].param };
    adp_trial_plain(trial);
    uint32_t room = choose_request(subject, members, round);
    if (!room || (round->led && (!CAN_STEP || is_traced())))
        return;
    for (int i = 0; i < THREADS; i++)
        members[i].crowd = &crowd;
    for (int i = 1; i < THREADS; i++) {
        members[i].plan = members[0].plan;
        memcpy(members[i].param, members[0].param, sizeof members[i].param);
    }
    adp_subject_must_create(&instance, subject, &one);
    pthread_barrier_init(&crowd.start, NULL, THREADS);
    adp_trial_doing(trial, "among %d threads", THREADS);
    adp_trial_at(trial, ADP_CALL_DECIDE);
    begin_greedy(members);
    members[0].leads = true;
    start(trial, &crowd, members,
          round->led      ? run_led
          : round->greedy ? run_greedy
                          : run_one);
    adp_trial_plain(trial);
    uint32_t left = room_in(subject, &instance, &members[0]);
    adp_subject_destroy(subject, &instance);
    struct counted n = { room, left, crowd.holdings.most, crowd.turns };
    judge_round(subject, members, round, &n);
}

void adp_check_is_concurrent(struct adp_trial *trial)
{
    struct adp_subject subject;
    uint64_t seed = trial->seed;
    adp_subject_load(&subject, trial, trial->path);
    if (subject.policy->threading != ADP_CONCURRENT)
        adp_trial_skip(trial, "it is SERIAL: the host sees to it that calls do not meet");
    struct adp_instance instance;
    struct crowd crowd = { .subject = &subject,
                           .instance = &instance,
                           .stateless = !subject.policy->create };
    struct member *members = adp_trial_shared(trial, THREADS * sizeof *members);
    for (int i = 0; i < THREADS; i++) {
        struct member *m = &members[i];
        m->crowd = &crowd;
        adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, m->param);
        m->plan = (struct adp_plan) { .seed = adp_subject_next(&seed) };
        struct adp_start one = { .param = m->param };
        if (crowd.stateless)
            adp_play_all(&subject, &m->plan, &one, m->expected, REQUESTS);
    }
    struct adp_start all = { .param = members[0].param };
    adp_subject_must_create(&instance, &subject, &all);
    pthread_barrier_init(&crowd.start, NULL, THREADS);
    adp_trial_doing(trial, "among %d threads", THREADS);
    crowd.longest_ns = LONGEST_MS * UINT64_C(1000000);
    crowd.spent = SPENT_BEFORE;
    crowd.span_ns = adp_trial_share(trial, MILLISECONDS) * UINT64_C(1000000);
    crowd.least_turns = adp_trial_share(trial, DECISIONS);
    crowd.least_stops = adp_trial_share(trial, STOPS);
    adp_trial_at(trial, ADP_CALL_DECIDE);
    start(trial, &crowd, members, run);
    adp_subject_destroy(&subject, &instance);
    for (int i = 0; subject.policy->outcome && !crowd.stateless && i < ROUNDS; i++)
        must_hold_nothing(trial, &subject, members, &rounds[i]);
    adp_trial_note(trial, "%llu decisions of %d threads%s",
                   (unsigned long long)crowd.turns, THREADS,
                   crowd.stateless ? ", each as it is alone" : "");
}

/* --- C2 ---
 *
 * Which calls may be made is each thread's own: the one that forks runs nothing of the policy's
 * before, and has the filter against processes from then on, as the process that it made. */

struct forked {
    struct adp_trial *trial;
    struct adp_subject subject;
    struct adp_play play;
    double param[ADP_MAX_PARAMS];
    struct adp_said *said;
    uint32_t n;
};

static void *begin(void *ctx)
{
    enum { BEFORE = 500 };
    struct forked *f = ctx;
    uint64_t seed = f->trial->seed;
    adp_trap_set(f->trial, ADP_TRAP_FORKING);
    adp_subject_load(&f->subject, f->trial, f->trial->path);
    adp_subject_params(&f->subject, ADP_VALUES_TYPICAL, &seed, f->param);
    struct adp_plan plan = { .seed = seed };
    struct adp_start start = { .param = f->param };
    adp_play_open(&f->play, &f->subject, &plan, &start);
    for (uint32_t i = 0; i < BEFORE; i++)
        adp_play_step(&f->play);
    return NULL;
}

static void go_on(void *ctx)
{
    struct forked *f = ctx;
    adp_trap_set(f->trial, ADP_TRAP_FORKING);
    for (uint32_t i = 0; i < f->n; i++)
        f->said[i] = adp_play_step(&f->play);
    adp_play_close(&f->play);
}

void adp_check_survives_fork(struct adp_trial *trial)
{
    enum { AFTER = 2000 };
    uint32_t n = adp_trial_share(trial, AFTER), at;
    struct adp_said *here = adp_trial_shared(trial, n * sizeof *here);
    struct adp_said *there = adp_trial_shared(trial, n * sizeof *there);
    struct forked f = { .trial = trial, .said = there, .n = n };
    struct adp_child child;
    pthread_t thread;
    char a[200], b[200];
    adp_trap_fence_to_fork(trial);
    adp_trap_thread(trial, &thread, NULL, begin, &f);
    pthread_join(thread, NULL);

    adp_trial_doing(trial, "in a forked process");
    struct adp_child_limit limit = { trial->limit_ms / 2, NULL, true };
    adp_child_run(&child, limit, go_on, &f);
    adp_trial_take_child(trial, &child, limit.ms, "");
    adp_trial_plain(trial);
    f.said = here;
    go_on(&f);
    if ((at = adp_play_differ(here, there, n)) < n)
        adp_trial_fail(trial,
                       "on request %u it %s, in a process that was forked before "
                       "it %s",
                       at + 1, adp_verdict_words(&here[at], a, sizeof a),
                       adp_verdict_words(&there[at], b, sizeof b));
}
