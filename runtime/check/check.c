/* SPDX-License-Identifier: MIT */
/* The list of checks, and running it. */
#include "runtime/check/check.h"

#include "runtime/check/child.h"
#include "runtime/check/checks.h"
#include "runtime/check/copies.h"
#include "runtime/check/timing.h"
#include "runtime/check/trap.h"
#include "runtime/loader/copy.h"
#include "runtime/loader/file.h"
#include "runtime/loader/loader.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order they run in: a check stands on those before it that it names. On those in
 * `after` only to the extent that they came to an end: a crash there is a crash here. */
static const struct check {
    const char *id, *title;
    uint32_t rule;
    const char *needs, *after; /* ids, blanks between them */
    void (*run)(struct adp_trial *trial);
    const char *mend;
} checks[] = {
    { "E1", "it is a shared object for this machine", 6, "", "",
      adp_check_is_shared_object,
      "build it with cc -shared -fPIC for this machine; docs/abi.md has the command" },
    { "E2", "it declares one policy that this host can read", 3, "E1", "",
      adp_check_declares_entry,
      "define `const adp_policy admitperf_policy_v1` with ADP_HEAD in it, and compile it "
      "with the header of the oldest host it is to run on (-DADP_ABI_MINOR=n)" },
    { "E3", "it exports the entry and no other name", 7, "E1", "",
      adp_check_exports_one_name,
      "compile with -fvisibility=hidden and make functions static; in C++ also "
      "-fno-gnu-unique; link archives with -Wl,--exclude-libs,ALL" },
    { "E4", "it asks nothing of the host", 7, "E1", "", adp_check_asks_nothing_of_host,
      "a policy is given all it may use; include <admitperf/policy.h> alone and do not "
      "link with libadmitperf" },
    { "E5", "it looks for libraries where only their owner writes", 7, "E1", "",
      adp_check_has_no_search_path,
      "link without -rpath, or with an absolute folder that not everybody can write to" },
    { "E6", "its code and the stacks stay protected", 7, "E1", "",
      adp_check_keeps_memory_protected,
      "compile everything with -fPIC and link with -Wl,-z,text -Wl,-z,noexecstack" },
    { "E7", "it takes no static TLS", 7, "E1", "", adp_check_has_no_static_tls,
      "keep state in the instance; if a library needs thread-local variables, compile it "
      "with -ftls-model=global-dynamic" },

    { "L1", "it loads from an empty environment, at once", 8, "E1 E2", "",
      adp_check_loads,
      "link it with every library it calls (-Wl,-z,defs finds what is missing), and do "
      "nothing in constructors" },
    { "L2", "loading it changes nothing in the process", 8, "L1", "",
      adp_check_load_changes_nothing,
      "take constructors out; compile and link without -Ofast and -ffast-math, which "
      "change the floating-point mode of whoever loads it" },
    { "S1", "its tables are sound", 6, "L1", "", adp_check_tables_are_sound,
      "the row that is named breaks what policy.h says of its field; names, texts and "
      "tables are constants of the policy's own file" },
    { "S2", "its signals are the dictionary's, in its units", 9, "S1", "",
      adp_check_signals_are_known,
      "declare the unit that `admitperf signals` lists for that name, and read the value "
      "as such" },
    { "S3", "an extension that it does not know is NULL", 3, "S1", "S2",
      adp_check_unknown_extension,
      "compare the id whole, and return NULL for all others" },

    { "L4", "create comes back soon", 5, "S1", "S2", adp_check_is_made_soon,
      "compute tables when the policy is compiled, and leave what takes long to whoever "
      "writes its config: a reload that carries state holds requests up meanwhile" },

    { "B1", "every verdict can be used", 2, "S1 L4", "S2", adp_check_verdicts_are_usable,
      "end every path of decide with adp_admit, adp_reject or adp_defer, and set only "
      "finite numbers" },
    { "B2", "a verdict depends on instance and view alone", 1, "S1", "S2 B1",
      adp_check_is_deterministic,
      "take time from view->now_ns, chance from view->draw, settings from parameters; "
      "initialise all memory" },
    { "B3", "instances share nothing", 1, "B2", "S2 B1",
      adp_check_instances_share_nothing,
      "move static variables into what create allocates" },
    { "B4", "what is absent is not read", 2, "B3", "S2 B1", adp_check_absent_is_not_read,
      "ask adp_has (or use adp_ge and its kin) before view->signal, `present` before a "
      "fact or a measured number, and a string for NULL before its key" },
    { "B5", "it stays within the structs it is given", 3, "B3", "S2 B1",
      adp_check_stays_within_structs,
      "read and write no further than min_host_minor promises; ADP_HAS tells whether a "
      "newer field is there; view, request and outcome are the host's, only the verdict "
      "is yours" },
    { "B6", "time may stand still, leap and run backwards", 1, "B1", "",
      adp_check_time_leaps,
      "compare before subtracting times, and never divide by a difference that may be "
      "0" },
    { "B7", "parameters may be at their bounds", 9, "B1", "",
      adp_check_parameters_at_bounds,
      "narrow lo and hi in the table to what works, or let create refuse the combination "
      "and say why in setup->error" },
    { "B8", "tickets come back by any end, late and all at once", 10, "B1 B3", "",
      adp_check_takes_tickets_back,
      "take a ticket back in outcome once, whatever its kind; learn from DONE, FAILED "
      "and CANCELLED, release on NOT_RUN and LOST, each only for a ticket of its own; "
      "bound what waits" },
    { "B9", "an instance that is over leaves nothing", 4, "S1", "S2 B1",
      adp_check_leaves_nothing, "free in destroy what create and decide took" },
    { "B10", "a create that fails says why and leaves nothing", 4, "S1", "S2 B1",
      adp_check_survives_failing_create,
      "check every allocation; on failure free what was taken, write a sentence into "
      "setup->error and return NULL; in C++ and Rust catch what unwinds; Rust's "
      "Box::new, Vec::push and collections end the process when memory is out: use "
      "try_reserve and the SDK's try_box" },
    { "B11", "saved state is the whole state, and no other is believed", 11, "B3 B8",
      "S2 B1", adp_check_saves_and_restores,
      "save every field that decide reads under any parameter, with its layout, its "
      "length and a checksum over it (adp_saved_seal); start afresh when one of them "
      "does not match; write nothing when `cap` is too small; let tickets name the "
      "instance that set them: no two of them are alike" },
    { "B12", "gates and margin agree with the verdicts", 9, "S1", "S2 B1",
      adp_check_gates_agree,
      "declare the comparison that decide makes, with the same operator and parameter; "
      "where refusing is no matter of thresholds declare no gates and set margin" },

    { "B13", "its calls change nothing in the process", 8, "S1", "S2 B1 B8",
      adp_check_calls_change_nothing,
      "leave rounding and floating-point traps, signals, locale, folder, umask, "
      "environment, descriptors, limits, timers and priorities as they are, and print "
      "nothing: they are the host's, and every other policy's" },
    { "B14", "a parameter that may change does", 9, "B3", "S2 B1",
      adp_check_takes_changed_parameters,
      "read it from view->param in decide, or declare it ADP_FIXED: it then changes with "
      "a new instance alone" },

    { "L3", "a second copy of the file has its own state", 1, "B2", "B1",
      adp_check_copy_is_apart,
      "keep nothing that is shared by name, number or thread: what create returns is the "
      "only state" },
    { "L5", "it is quiet when the process ends", 8, "S1", "S2 B1 B8 B13",
      adp_check_ends_quietly,
      "take destructors and handlers of atexit out: what an instance has, destroy gives "
      "back, and there is nothing else to be undone" },
    { "C1", "threads get the answers they would get alone", 5, "B1 B3", "",
      adp_check_is_concurrent,
      "declare ADP_SERIAL, or make every access to what instances share atomic" },
    { "C2", "it goes on after a fork", 8, "B2", "B1", adp_check_survives_fork,
      "do not tie the instance to its process: no atfork handlers, no pid, no thread, no "
      "shared memory" },

    { "R1", "decide and outcome allocate nothing, and need little stack", 5, "S1",
      "B1 B8", adp_check_allocates_nothing,
      "allocate in create, with a bound; reuse the oldest row when a table is full" },
    { "R2", "decide and outcome make no system call", 5, "R1", "",
      adp_check_makes_no_system_call,
      "no printing, locks that wait, files or sleeping in the request path; the time is "
      "view->now_ns" },
    { "R3", "decide keeps to its budget", 5, "S1", "B1", adp_check_keeps_to_budget,
      "do less for each request: precompute in create and outcome, bound every loop" },
    { "R4", "generations follow one another under traffic", 8, "S2 L3", "B1 B8 B11",
      adp_check_reloads_under_traffic,
      "let create and destroy of one instance touch nothing that another one uses; take "
      "back, or let go of, what the tickets of the instance before hold; take its state "
      "under other parameters too" },
};
enum { N_CHECKS = sizeof checks / sizeof checks[0] };

/* By how it went, where that says more than which check it was. */
static const char *const mends[ADP_MENDS] = {
    [ADP_MEND_MEMORY] =
        "it touches memory that is not there or not its own, or its stack is at an end: "
        "run this check under a debugger, as docs/checks.md has it; look before each "
        "pointer that may be NULL, and stay within the number of rows and bytes that "
        "comes with it",
    [ADP_MEND_ABORT] =
        "an assertion, an exception or panic that nobody caught, or a heap that is "
        "damaged: create says what is wrong with adp_cannot, decide with a verdict, and "
        "nothing unwinds past them",
    [ADP_MEND_DIVISION] =
        "look at what an integer is divided by before dividing, and leave "
        "floating-point traps off",
    [ADP_MEND_EXIT] = "return from every call: exit, and what calls it, ends the host",
    [ADP_MEND_COMPUTES] = "bound every loop, by a number that is known before it begins",
    [ADP_MEND_WAITS] =
        "take out what sleeps, and what waits for a lock, a file, a thread or "
        "a process; a lock is given back on every path",
    [ADP_MEND_REACHES_OUT] =
        "leave files, connections, processes and signals to the host: "
        "a policy has its own memory and what it is passed",
    [ADP_MEND_LESS_STACK] =
        "put large tables into what create allocates, and bound how deep it calls "
        "itself: threads of a host may have a quarter of a megabyte of stack, half of it "
        "the host's",
    [ADP_MEND_GIVE_PARAMETERS] =
        "give parameters that create takes: admitperf check FILE.so:NAME=VALUE,... "
        "(where the table has no default, or the values given are refused, what is usual "
        "cannot be guessed)",
    [ADP_MEND_TAKE_DEFAULTS] = "let create take the defaults of the policy's own table, "
                               "all at once; where there is none that makes sense "
                               "declare ADP_REQUIRED",
    [ADP_MEND_GIVE_CONFIG] =
        "give what `config:` would hold, one JSON object, with --config",
    [ADP_MEND_LET_GO] =
        "let what was saved lose its hold with time: a time ahead of view->now_ns is "
        "none, and what was spent or latched comes back within a day of any clock; what "
        "is spent for good is no policy's to keep, it ends with the operator's key or "
        "budget",
    [ADP_MEND_LEAVE_ROOM] =
        "take no more memory, addresses, descriptors, threads and processes than the "
        "policy needs: the host's are taken from the same",
    [ADP_MEND_FEWER_SIGNALS] = "declare no more than 52 signals that are not in the "
                               "dictionary: with those it has, a configuration knows 64",
};

/* There a crash, a hang or a system call is what is asked about. */
static const char own_mend[] = "L2 B5 B6 B7 B8 B10 B11 B13 L5 C1 C2 R2 R4";

_Static_assert(N_CHECKS <= ADP_CHECKS_MAX, "the report has room for every check");

bool adp_check_listed(struct adp_check_result *ret, uint32_t i)
{
    if (i >= N_CHECKS)
        return false;
    *ret = (struct adp_check_result) { .id = checks[i].id,
                                       .title = checks[i].title,
                                       .mend = checks[i].mend,
                                       .rule = checks[i].rule };
    return true;
}

/* --- what stands on what --- */

struct run {
    struct adp_trial trial;
    struct adp_check_options options;
    struct adp_check_report *report;
    bool wanted[N_CHECKS]; /* to be run */
    bool shown[N_CHECKS];  /* to be reported even if it passes */
    bool failed[N_CHECKS], died[N_CHECKS];
    bool blocked[N_CHECKS];
    struct stat file;                 /* as it was when it was read, */
    bool changed;                     /* and is no more */
    char starved[ADP_CHECK_SEEN + 8]; /* the last check: it was given no time; or "" */
    bool misused;                     /* the parameters given are none of the policy's */
    uint32_t signals;                 /* that the policy declares; 0: not known yet */
};

static int find(const char *id, size_t len)
{
    for (int i = 0; i < N_CHECKS; i++)
        if (strlen(checks[i].id) == len && strncasecmp(checks[i].id, id, len) == 0)
            return i;
    return -1;
}

/* The next id of a list, as an index; -1 at its end. */
static int next_of(const char **list)
{
    *list += strspn(*list, " ");
    size_t len = strcspn(*list, " ");
    int i = len ? find(*list, len) : -1;
    *list += len;
    return i;
}

static void want(struct run *run, int i)
{
    int other;
    if (run->wanted[i])
        return;
    run->wanted[i] = true;
    for (const char *list = checks[i].needs; (other = next_of(&list)) >= 0;)
        want(run, other);
    for (const char *list = checks[i].after; (other = next_of(&list)) >= 0;)
        want(run, other);
}

/* The check that keeps this one from being asked, or -1. */
static int blocker(const struct run *run, int i)
{
    int other;
    for (const char *list = checks[i].needs; (other = next_of(&list)) >= 0;)
        if (run->failed[other] || run->blocked[other])
            return other;
    for (const char *list = checks[i].after; (other = next_of(&list)) >= 0;)
        if (run->died[other] || run->blocked[other])
            return other;
    return -1;
}

static int choose(struct run *run, const char *only, struct adp_error *err)
{
    const char *ids[N_CHECKS + 1] = { NULL };
    for (int i = 0; i < N_CHECKS; i++)
        ids[i] = checks[i].id;
    if (!only) {
        memset(run->wanted, 1, sizeof run->wanted);
        memset(run->shown, 1, sizeof run->shown);
        return 0;
    }
    int i = N_CHECKS - 1;
    while (i >= 0 && strcasecmp(checks[i].id, only) != 0)
        i--;
    if (i < 0) {
        const char *near = adp_error_nearest(only, ids);
        return adp_error_set(err, ADP_EINVAL,
                             "no check is called \"%s\"%s%s%s; docs/checks.md "
                             "lists them, from %s to %s, and one can be named",
                             only, near ? "; nearest is \"" : "", near ? near : "",
                             near ? "\"" : "", checks[0].id, checks[N_CHECKS - 1].id);
    }
    want(run, i);
    run->shown[i] = true;
    return 0;
}

/* --- one check --- */

struct work {
    const struct check *check;
    struct adp_trial *trial;
};

static void work(void *ctx)
{
    const struct work *w = ctx;
    w->check->run(w->trial);
}

/* What the process said last may be the policy's own reason: an abort's, an exception's. */
static void say_death(struct adp_check_result *result, const struct run *run,
                      const struct adp_child *child)
{
    char words[160], where[240], slow[100] = "";
    const struct adp_slate *slate = run->trial.slate;
    adp_child_words(child, run->trial.limit_ms, words, sizeof words);
    adp_trial_where(slate, where, sizeof where);
    if (child->end == ADP_CHILD_HUNG && slate->create_ms > run->trial.limit_ms / 4)
        snprintf(slow, sizeof slow, "; it was created %u times, which took %u ms",
                 slate->creates, slate->create_ms);
    snprintf(result->seen, sizeof result->seen, "%s%s%s%s%s%s", words, *where ? " " : "",
             where, slow, child->said[0] ? "; it said: " : "", child->said);
}

static bool has_own_mend(int i)
{
    int other = -1;
    for (const char *list = own_mend; (other = next_of(&list)) >= 0 && other != i;)
        ;
    return other == i;
}

static const char *mend_of(int i, const struct adp_slate *slate)
{
    uint32_t mend = slate->mend < ADP_MENDS ? slate->mend : ADP_MEND_USUAL;
    bool is_said = mend >= ADP_MEND_REACHES_OUT;
    return mends[mend] && (is_said || !has_own_mend(i)) ? mends[mend] : checks[i].mend;
}

static uint32_t rule_of(int i, const struct adp_slate *slate)
{
    enum { THE_PROCESS = 8 };
    return slate->mend == ADP_MEND_REACHES_OUT || slate->mend == ADP_MEND_LEAVE_ROOM
               ? THE_PROCESS
               : checks[i].rule;
}

static void take_result(struct adp_check_result *result, const struct run *run,
                        const struct adp_child *child, bool *ret_died)
{
    struct adp_slate *slate = run->trial.slate;
    *ret_died = false;
    if (slate->status && child->end == ADP_CHILD_RETURNED) {
        result->status =
            slate->status == ADP_CHECK_SKIP + 1 ? ADP_CHECK_SKIP : ADP_CHECK_FAIL;
        *ret_died = slate->spoils && result->status == ADP_CHECK_FAIL;
    } else if (child->finished) {
        result->status = ADP_CHECK_PASS;
    } else {
        result->status = adp_child_hindered(child) ? ADP_CHECK_SKIP : ADP_CHECK_FAIL;
        *ret_died = result->status == ADP_CHECK_FAIL;
        slate->mend = adp_trial_mend_of(child);
        say_death(result, run, child);
        return;
    }
    slate->seen[sizeof slate->seen - 1] = '\0';
    memcpy(result->seen, slate->seen, sizeof result->seen);
}

/* What is to be had without the policy, and was not with it, the policy has taken. */
static void judge_lack(struct adp_check_result *result, const struct run *run)
{
    struct adp_slate *slate = run->trial.slate;
    if (result->status != ADP_CHECK_SKIP || !slate->lacks ||
        !adp_trap_can_make(&run->trial))
        return;
    size_t len = strlen(result->seen);
    snprintf(result->seen + len, sizeof result->seen - len,
             "; without the policy it can be had here");
    result->status = ADP_CHECK_FAIL;
    slate->mend = ADP_MEND_LEAVE_ROOM;
}

/* Whoever has a slow create gets the time for as many of them as a check makes, and who
 * declares many signals that for making up their readings, which is our own work. */
static uint32_t limit_of(const struct run *run)
{
    enum { CREATES = 1000, LEAST_MS = 1, SECOND_MS = 1000, USUAL_SIGNALS = 8 };
    uint32_t limit_ms = run->options.limit_ms;
    if (run->signals > USUAL_SIGNALS)
        limit_ms = limit_ms / USUAL_SIGNALS * run->signals;
    if (run->trial.create_ms < LEAST_MS)
        return limit_ms;
    uint32_t creates = adp_trial_share(&run->trial, CREATES);
    uint32_t seconds = (uint32_t)(creates * run->trial.create_ms / SECOND_MS) + 1;
    return limit_ms + seconds * SECOND_MS;
}

/* The slate is shared with a policy: any number may stand there. */
static void take_measure(struct run *run)
{
    uint32_t signals = run->trial.slate->signals;
    if (signals)
        run->signals = signals < ADP_MAX_SIGNALS ? signals : ADP_MAX_SIGNALS;

    double ms = run->trial.slate->create_cost_ms;
    if (ms > 0.0)
        run->trial.create_ms = ms < ADP_CREATE_MOST_MS ? ms : ADP_CREATE_MOST_MS;
}

static void ask(struct run *run, int i, struct adp_check_result *result)
{
    struct adp_slate *slate = run->trial.slate;
    struct work w = { &checks[i], &run->trial };
    struct adp_child child;
    double from = adp_timing_ms(CLOCK_MONOTONIC);
    char policy[sizeof slate->policy];
    memcpy(policy, slate->policy, sizeof policy);
    memset(slate, 0, sizeof *slate);
    memcpy(slate->policy, policy, sizeof policy);
    run->trial.limit_ms = limit_of(run);
    struct adp_child_limit limit = { run->trial.limit_ms, run->options.stop, false };
    adp_child_run(&child, limit, work, &w);
    result->ms = adp_timing_ms(CLOCK_MONOTONIC) - from;
    take_result(result, run, &child, &run->died[i]);
    judge_lack(result, run);
    if (result->status == ADP_CHECK_SKIP &&
        (child.hung == ADP_HUNG_STARVING || slate->starved))
        snprintf(run->starved, sizeof run->starved, "%s: %s", result->id, result->seen);
    take_measure(run);
    result->mend = mend_of(i, slate);
    result->rule = rule_of(i, slate);
    run->failed[i] = result->status == ADP_CHECK_FAIL;
    /* A failure is always reported: what is wrong stands there. */
    run->misused = run->options.given && slate->misused && run->failed[i];
}

static void run_one(struct run *run, int i)
{
    struct adp_check_report *report = run->report;
    struct adp_check_result result;
    adp_check_listed(&result, (uint32_t)i);
    int by = blocker(run, i);
    if (by >= 0) {
        run->blocked[i] = true;
        result.status = ADP_CHECK_SKIP;
        snprintf(result.seen, sizeof result.seen, "not asked: %s %s", checks[by].id,
                 run->blocked[by] ? "was not" : "failed");
    } else {
        ask(run, i, &result);
    }
    if (!run->shown[i] && result.status != ADP_CHECK_FAIL)
        return;
    if (result.status != ADP_CHECK_FAIL)
        result.mend = NULL;
    report->passed += result.status == ADP_CHECK_PASS;
    report->failed += result.status == ADP_CHECK_FAIL;
    report->skipped += result.status == ADP_CHECK_SKIP;
    report->results[report->n++] = result;
}

/* --- the file --- */

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_untouched(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

/* Whether the file is another than the one that was read. Its bytes may be the same though
 * it was touched; but not if a check has failed meanwhile, which may have seen others. */
static bool has_changed(struct run *run, bool failed)
{
    struct adp_file now = { 0 };
    struct stat st;
    if (stat(run->trial.path, &st) != 0)
        return true;
    if (is_untouched(&st, &run->file))
        return false;
    if (failed || adp_file_read(&now, run->trial.path, ADP_LOADER_MAX_BYTES, NULL) < 0)
        return true;
    bool other = strcmp(now.sha256, run->trial.sha256) != 0;
    adp_file_finish(&now);
    run->file = st;
    return other;
}

/* Whether this host can load anything of the file's size: if it cannot, that is no fault of
 * the policy's. The loader would go on to a folder, which a fenced process may not make
 * (trap.h); where there is no /proc there is no fence. */
static int judge_host(const struct adp_file *file, const char *path,
                      struct adp_error *err)
{
    struct adp_error why = { 0 };
    struct adp_copy copy;
    int r = adp_copy_create(&copy, ADP_COPY_MEMORY, file->bytes, file->len, path, &why);
    if (r == 0)
        adp_copy_discard(&copy);
    else if (r == ADP_EIO && access("/proc/self/fd", X_OK) != 0)
        r = 0;
    else
        adp_error_at(err, r, path, 0, 0, "%s", why.text);
    return r;
}

/* What the checks need themselves, with some to spare; where there is less, what they run out of
 * would look like a policy's fault. */
static const struct limit {
    __rlimit_resource_t what;
    unsigned per; /* bytes, or whatever it is, in one of ulimit's */
    const char *name, *option;
    rlim_t least;
} limits[] = {
    { RLIMIT_NOFILE, 1, "open files", "-n", 32 },
    { RLIMIT_STACK, 1024, "the stack, in kB,", "-s", 2048 },
    { RLIMIT_AS, 1024, "memory, in kB,", "-v", 512 << 10 },
    { RLIMIT_DATA, 1024, "a process's data, in kB,", "-d", 256 << 10 },
};

static int judge_limits(struct adp_error *err)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct limit *l = &limits[i];
        struct rlimit now;
        if (getrlimit(l->what, &now) == 0 && now.rlim_cur < l->least * l->per)
            return adp_error_set(err, ADP_EFULL,
                                 "the limit on %s is %llu, checks need %llu (ulimit %s)",
                                 l->name, (unsigned long long)(now.rlim_cur / l->per),
                                 (unsigned long long)l->least, l->option);
    }
    return 0;
}

/* --- all of them --- */

/* Eight digits of the file's hash: the same file gets the same requests. */
static uint32_t seed_of(const char *sha256)
{
    uint32_t seed = 0;
    for (int i = 0; i < 8; i++) {
        char c = sha256[i];
        seed = seed << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return seed ? seed : 1;
}

static bool is_stopped(const struct run *run)
{
    return run->options.stop && *run->options.stop;
}

static void run_all(struct run *run)
{
    for (int i = 0; i < N_CHECKS && !is_stopped(run) && !run->changed && !run->misused &&
                    !run->starved[0];
         i++)
        if (run->wanted[i]) {
            run_one(run, i);
            run->changed = has_changed(run, run->failed[i]);
        }
    memcpy(run->report->policy, run->trial.slate->policy, sizeof run->report->policy);
    run->report->policy[sizeof run->report->policy - 1] = '\0';
}

/* What `config:` would hold is one JSON object. */
static int judge_config(const char *config, struct adp_error *err)
{
    json_error_t error;
    json_t *object = config ? json_loads(config, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (config && !object)
        return adp_error_set(err, ADP_EINVAL,
                             "config is not JSON: %s, at byte %d; expected the text "
                             "itself, such as '{\"tiers\": 3}', not a file's name",
                             error.text, error.position);
    bool is = !config || json_is_object(object);
    json_decref(object);
    return is ? 0 : adp_error_set(err, ADP_EINVAL, "config is JSON, but no object");
}

static int read_file(struct run *run, struct adp_file *file, const char *path,
                     struct adp_error *err)
{
    /* Before it is read: what changes from here on shows. */
    if (stat(path, &run->file) != 0)
        memset(&run->file, 0, sizeof run->file);
    int r = adp_file_read(file, path, ADP_LOADER_MAX_BYTES, err);
    return r < 0 ? r : judge_host(file, path, err);
}

int adp_check_run(struct adp_check_report *ret, const char *path,
                  const struct adp_check_options *options, struct adp_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    struct adp_slate *slate = MAP_FAILED;
    struct adp_file file = { 0 };
    char scratch[512] = "";
    int r;
    if (!run)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (options)
        run->options = *options;
    if (!run->options.limit_ms)
        run->options.limit_ms = ADP_CHECK_LIMIT;
    if (!run->options.percent)
        run->options.percent = 100;
    if ((r = judge_limits(err)) < 0 || (r = choose(run, run->options.only, err)) < 0 ||
        (r = judge_config(run->options.config, err)) < 0 ||
        (r = read_file(run, &file, path, err)) < 0)
        goto out;
    slate = mmap(NULL, sizeof *slate, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (slate == MAP_FAILED) {
        r = adp_error_set(err, ADP_ENOMEM, "out of memory");
        goto out;
    }
    if (!adp_copies_folder(scratch, sizeof scratch)) {
        r = adp_error_set(err, ADP_EIO, "no folder can be made in $TMPDIR: %s",
                          strerror(errno));
        scratch[0] = '\0';
        goto out;
    }
    memset(ret, 0, sizeof *ret);
    snprintf(ret->path, sizeof ret->path, "%s", path);
    memcpy(ret->sha256, file.sha256, sizeof ret->sha256);
    ret->seed = run->options.seed ? run->options.seed : seed_of(file.sha256);
    run->report = ret;
    run->trial = (struct adp_trial) { .path = path,
                                      .sha256 = file.sha256,
                                      .bytes = file.bytes,
                                      .len = file.len,
                                      .options = &run->options,
                                      .seed = ret->seed,
                                      .scratch = scratch,
                                      .slate = slate };
    adp_trap_rehearse(&run->trial);
    run_all(run);
    if (run->misused)
        r = adp_error_set(err, ADP_EINVAL, "%s", ret->results[ret->n - 1].seen);
    else if (is_stopped(run))
        r = adp_error_set(err, ADP_ESTATE, "stopped by a signal");
    else if (run->changed)
        r = adp_error_at(err, ADP_EINVAL, path, 0, 0, "changed while it was checked");
    else if (run->starved[0])
        r = adp_error_set(err, ADP_EFULL, "%s", run->starved);
out:
    if (scratch[0])
        adp_copies_remove(scratch);
    if (slate != MAP_FAILED)
        munmap(slate, sizeof *slate);
    adp_file_finish(&file);
    free(run);
    return r;
}
