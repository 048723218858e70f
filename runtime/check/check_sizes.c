/* SPDX-License-Identifier: MIT */
/* Whether a policy stays within the structs it is given: those of the oldest host, which
 * end where the memory ends, and those of a newer one, which go on behind what it knows.
 *
 * Each struct lies in a pen of its own: the same pages twice, once for us to write and
 * once for the policy to read, with a page behind them that nobody may touch. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sizes at minor 0. */
enum { SETUP = 56, VIEW = 72, REQUEST = 80, VERDICT = 48, OUTCOME = 64 };
enum { TAIL = 64, ERROR_CAP = 40, PEN_BYTES = ADP_MAX_SAVED };

/* A newer host sets others too. */
#define KNOWN_FACTS (uint32_t)(ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY | ADP_DEADLINE)
#define KNOWN_MEASURES                                                                   \
    (uint32_t)(ADP_O_TTFT | ADP_O_TOTAL | ADP_O_PROMPT | ADP_O_OUTPUT | ADP_O_STATUS)

struct pen {
    const char *what;
    bool writable; /* by the policy */
    /* Two, taken in turns: what was given to one call is closed during the next. */
    struct side {
        unsigned char *ours, *theirs;
        size_t used; /* at the end of the pen */
        bool open;
    } side[2];
};

enum {
    IN_SETUP,
    IN_SETUP_PARAM,
    IN_CONFIG,
    IN_SAVED,
    IN_ERROR,
    IN_VIEW,
    IN_REQUEST,
    IN_TENANT,
    IN_SESSION,
    IN_CLASS,
    IN_SIGNAL,
    IN_PARAM,
    IN_REPLICA,
    IN_REPLICA_PRESENT,
    IN_VERDICT,
    IN_OUTCOME,
    N_PENS
};

/* One process, one check. */
static struct {
    struct adp_trial *trial;
    struct pen pens[N_PENS];
    int turn;           /* the side that calls are given */
    uint32_t tail;      /* bytes that every struct is longer than at minor 0 */
    unsigned char fill; /* of the tails */
} yard = {
    .pens = { [IN_SETUP] = { .what = "adp_setup" },
              [IN_SETUP_PARAM] = { .what = "setup->param" },
              [IN_CONFIG] = { .what = "setup->config" },
              [IN_SAVED] = { .what = "setup->saved" },
              [IN_ERROR] = { .what = "setup->error", .writable = true },
              [IN_VIEW] = { .what = "adp_view" },
              [IN_REQUEST] = { .what = "adp_request" },
              [IN_TENANT] = { .what = "request->tenant" },
              [IN_SESSION] = { .what = "request->session" },
              [IN_CLASS] = { .what = "request->slo_class" },
              [IN_SIGNAL] = { .what = "view->signal" },
              [IN_PARAM] = { .what = "view->param" },
              [IN_REPLICA] = { .what = "view->replica" },
              [IN_REPLICA_PRESENT] = { .what = "view->replica_present" },
              [IN_VERDICT] = { .what = "adp_verdict", .writable = true },
              [IN_OUTCOME] = { .what = "adp_outcome" } },
};

static void build_side(struct side *side, bool writable)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("pen", MFD_CLOEXEC);
    void *ours = MAP_FAILED, *theirs = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, PEN_BYTES) == 0) {
        ours = mmap(NULL, PEN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        theirs =
            mmap(NULL, PEN_BYTES + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (ours == MAP_FAILED || theirs == MAP_FAILED ||
        mmap(theirs, PEN_BYTES, writable ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        adp_trial_skip(yard.trial, "no memory with guard pages is to be had");
    close(fd);
    *side = (struct side) { .ours = ours, .theirs = theirs, .open = true };
}

static void protect(const struct pen *pen, struct side *side, bool open)
{
    int how = !open ? PROT_NONE : pen->writable ? PROT_READ | PROT_WRITE : PROT_READ;
    if (side->open != open && mprotect(side->theirs, PEN_BYTES, how) == 0)
        side->open = open;
}

/* The call is over, and what it was given with it. */
static void close_pens(void)
{
    for (int i = 0; i < N_PENS; i++) {
        struct side *side = &yard.pens[i].side[yard.turn];
        if (side->used && !yard.tail) /* seen once is enough: it takes a system call */
            protect(&yard.pens[i], side, false);
        side->used = 0;
    }
    yard.turn = !yard.turn;
}

/* `bytes` at the end of the pen, of which `known` are copied in; the rest is the tail.
 * What the policy is to be given. */
static void *put(int in, const void *from, size_t known, size_t bytes)
{
    struct side *side = &yard.pens[in].side[yard.turn];
    size_t at = PEN_BYTES - bytes;
    protect(&yard.pens[in], side, true);
    if (known)
        memcpy(side->ours + at, from, known);
    memset(side->ours + at + known, yard.fill, bytes - known);
    side->used = bytes;
    return side->theirs + at;
}

static const char *put_text(int in, const char *text)
{
    return text ? put(in, text, strlen(text) + 1, strlen(text) + 1) : NULL;
}

static void *put_struct(int in, void *from, size_t known)
{
    uint32_t size = (uint32_t)known + yard.tail;
    memcpy(from, &size, sizeof size); /* each begins with it */
    return put(in, from, known, size);
}

/* --- calls --- */

static void *call_create(const struct adp_policy *policy, const struct adp_setup *setup)
{
    struct adp_setup s = *setup;
    char *error = setup->error;
    char nothing[ERROR_CAP] = "";
    s.param = put(IN_SETUP_PARAM, setup->param, policy->n_params * sizeof(double),
                  policy->n_params * sizeof(double));
    s.config = put_text(IN_CONFIG, setup->config);
    if (setup->saved)
        s.saved = put(IN_SAVED, setup->saved, setup->saved_len, setup->saved_len);
    s.error = put(IN_ERROR, nothing, sizeof nothing, sizeof nothing);
    s.error_cap = sizeof nothing;
    void *self = policy->create(put_struct(IN_SETUP, &s, SETUP));
    memcpy(error, s.error, ERROR_CAP - 1);
    close_pens();
    return self;
}

static void call_decide(const struct adp_policy *policy, void *self,
                        const struct adp_view *view, struct adp_verdict *verdict)
{
    struct adp_view v = *view;
    struct adp_request q = *view->request;
    size_t row = policy->n_signals * sizeof(double), rows = view->n_replicas;
    v.signal = put(IN_SIGNAL, view->signal, row, row);
    v.param = put(IN_PARAM, view->param, policy->n_params * sizeof(double),
                  policy->n_params * sizeof(double));
    q.tenant = put_text(IN_TENANT, q.tenant);
    q.session = put_text(IN_SESSION, q.session);
    q.slo_class = put_text(IN_CLASS, q.slo_class);
    q.present |= yard.tail ? ~KNOWN_FACTS : 0;
    v.request = put_struct(IN_REQUEST, &q, REQUEST);
    if (rows) {
        v.replica = put(IN_REPLICA, view->replica, rows * row, rows * row);
        v.replica_present = put(IN_REPLICA_PRESENT, view->replica_present,
                                rows * sizeof(uint64_t), rows * sizeof(uint64_t));
    }
    struct adp_verdict blank = *verdict;
    struct adp_verdict *theirs = put_struct(IN_VERDICT, &blank, VERDICT);
    policy->decide(self, put_struct(IN_VIEW, &v, VIEW), theirs);
    const unsigned char *tail = (const unsigned char *)theirs + VERDICT;
    for (uint32_t i = 0; i < yard.tail; i++)
        if (tail[i] != yard.fill)
            adp_trial_fail(yard.trial,
                           "it writes byte %d of a verdict of which it knows "
                           "%d",
                           VERDICT + (int)i, VERDICT);
    memcpy(verdict, theirs, VERDICT);
    verdict->size = sizeof *verdict;
    close_pens();
}

static void call_outcome(const struct adp_policy *policy, void *self,
                         const struct adp_outcome *outcome)
{
    struct adp_outcome o = *outcome;
    o.present |= yard.tail ? ~KNOWN_MEASURES : 0;
    policy->outcome(self, put_struct(IN_OUTCOME, &o, OUTCOME));
    close_pens();
}

/* --- what is touched that may not be --- */

static void on_fault(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char where[200];
    (void)context;
    adp_trial_where(yard.trial->slate, where, sizeof where);
    for (int i = 0; i < 2 * N_PENS; i++) {
        const struct pen *pen = &yard.pens[i / 2];
        const struct side *side = &pen->side[i % 2];
        uintptr_t from = (uintptr_t)side->theirs, to = from + PEN_BYTES;
        if (at >= to && at < to + page)
            adp_trial_fail(yard.trial, "it goes beyond %s: byte %zu of %zu, %s",
                           pen->what, (size_t)(at - to) + side->used, side->used, where);
        if (at >= from && at < to && !side->open)
            adp_trial_fail(yard.trial,
                           "it looks at %s after the call that it was given to, %s",
                           pen->what, where);
        if (at >= from && at < to)
            adp_trial_fail(yard.trial, "it writes into %s, which is the host's, %s",
                           pen->what, where);
    }
    struct sigaction plain = { .sa_handler = SIG_DFL };
    sigaction(signal, &plain, NULL); /* and again, to be seen from outside */
}

static void watch_faults(struct adp_trial *trial)
{
    enum { STACK = 1 << 16 };
    stack_t stack = { .ss_sp = adp_trial_shared(trial, STACK), .ss_size = STACK };
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

static void play_laid_out(const struct adp_subject *subject,
                          const struct adp_start *start, const struct adp_said *said,
                          struct adp_said *other, uint32_t n, const char *how)
{
    struct adp_plan plan = { .seed = subject->trial->seed };
    char a[200], b[200];
    adp_trial_doing(subject->trial, "%s", how);
    adp_play_all(subject, &plan, start, other, n);
    uint32_t at = adp_play_differ(said, other, n);
    if (at < n)
        adp_trial_fail(subject->trial, "on request %u it %s, but %s it %s", at + 1,
                       adp_verdict_words(&said[at], a, sizeof a), how,
                       adp_verdict_words(&other[at], b, sizeof b));
}

/* An empty one, to see whether it is kept, if the operator has none and the policy takes
 * that. */
static void give_config(const struct adp_subject *subject, const struct adp_start *start,
                        struct adp_check_options *options)
{
    struct adp_trial *trial = subject->trial;
    const struct adp_check_options *given = trial->options;
    if (given->config)
        return;
    options->config = "{}";
    trial->options = options;
    if (!adp_subject_takes(subject, start))
        trial->options = given;
}

/* What one that has lived for n requests saves; *ret: owned by the caller, or NULL. */
static void make_saved(const struct adp_subject *subject, const struct adp_start *start,
                       uint32_t n, void **ret, uint64_t *ret_len)
{
    const struct adp_policy *p = subject->policy;
    struct adp_plan plan = { .seed = subject->trial->seed };
    struct adp_play play;
    void *saved = p->save ? malloc(p->max_saved) : NULL;
    *ret = saved;
    *ret_len = 0;
    if (!saved)
        return;
    adp_play_open(&play, subject, &plan, start);
    for (uint32_t i = 0; i < n; i++)
        adp_play_step(&play);
    adp_traffic_settle(&play.traffic, &play.instance, ADP_DONE);
    *ret_len = adp_subject_save(subject, &play.instance, saved, p->max_saved);
    adp_play_close(&play);
    if (*ret_len > p->max_saved)
        *ret_len = 0; /* that is another check's */
}

/* The same of an instance that is made of saved bytes. */
static void play_restored(struct adp_subject *subject, const struct adp_start *start,
                          struct adp_said *said, struct adp_said *other, uint32_t n)
{
    const struct adp_calls laid_out = subject->calls;
    struct adp_start from = *start;
    struct adp_plan plan = { .seed = subject->trial->seed };
    void *saved;
    subject->calls = (struct adp_calls) { 0 };
    make_saved(subject, start, n, &saved, &from.saved_len);
    from.saved = from.saved_len ? saved : NULL;
    if (from.saved) {
        adp_play_all(subject, &plan, &from, said, n);
        subject->calls = laid_out;
        play_laid_out(subject, &from, said, other, n,
                      "restored with the structs of the oldest host");
    }
    subject->calls = laid_out;
    free(saved);
}

void adp_check_stays_within_structs(struct adp_trial *trial)
{
    enum { REQUESTS = 3000 };
    static const struct adp_calls laid_out = { call_create, call_decide, call_outcome };
    uint32_t n = adp_trial_share(trial, REQUESTS);
    struct adp_said *said = adp_trial_shared(trial, n * sizeof *said);
    struct adp_said *other = adp_trial_shared(trial, n * sizeof *other);
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed;
    yard.trial = trial;
    for (int i = 0; i < 2 * N_PENS; i++)
        build_side(&yard.pens[i / 2].side[i % 2], yard.pens[i / 2].writable);
    watch_faults(trial);
    adp_subject_load(&subject, trial, trial->path);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    struct adp_plan plan = { .seed = trial->seed };
    struct adp_start start = { .param = param };
    struct adp_check_options options = *trial->options;
    give_config(&subject, &start, &options);
    adp_play_all(&subject, &plan, &start, said, n);

    subject.calls = laid_out;
    play_laid_out(&subject, &start, said, other, n,
                  "with the structs of the oldest host");
    yard.tail = TAIL;
    play_laid_out(
        &subject, &start, said, other, n,
        "with structs of a newer host, 64 bytes longer and with bits that are new");
    yard.fill = 0xff;
    play_laid_out(&subject, &start, said, other, n,
                  "with structs of a newer host, 64 bytes of ones longer");
    yard.tail = 0;
    play_restored(&subject, &start, said, other, n);
}
