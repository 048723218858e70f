/* SPDX-License-Identifier: MIT */
/* What the system and libc keep for a process (runtime/check/settings.h). */
#include "runtime/check/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

/* --- rows --- */

static void add(struct adp_settings *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct adp_settings *s, const char *name, const char *format, ...)
{
    va_list args;
    if (s->n == ADP_SETTINGS)
        return;
    struct adp_setting *row = &s->row[s->n++];
    snprintf(row->name, sizeof row->name, "%s", name);
    va_start(args, format);
    vsnprintf(row->value, sizeof row->value, format, args);
    va_end(args);
}

/* --- timers --- */

static const struct {
    enum __itimer_which which;
    const char *name;
} timers[] = {
    { ITIMER_REAL, "the alarm (ITIMER_REAL)" },
    { ITIMER_VIRTUAL, "the timer ITIMER_VIRTUAL" },
    { ITIMER_PROF, "the timer ITIMER_PROF" },
};

/* What is left of it goes down by itself. Whoever puts another in its place has another
 * interval: adp_settings_set_odd. */
static void read_timers(struct adp_settings *s)
{
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        struct itimerval t = { 0 };
        getitimer(timers[i].which, &t);
        bool runs = t.it_value.tv_sec || t.it_value.tv_usec;
        add(s, timers[i].name, "%s, every %lld.%06lld s", runs ? "runs" : "stands",
            (long long)t.it_interval.tv_sec, (long long)t.it_interval.tv_usec);
    }
}

/* Whole, if it is no longer than `cap`; "" where there is none. */
static void read_text(const char *path, char *to, size_t cap)
{
    size_t len = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && len < cap - 1 && (n = read(fd, to + len, cap - 1 - len)) > 0)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    to[len] = '\0';
}

static void read_posix_timers(struct adp_settings *s)
{
    char text[4096];
    uint32_t n = 0;
    read_text("/proc/self/timers", text, sizeof text);
    for (const char *at = text; (at = strstr(at, "ID: ")); at++)
        n += at == text || at[-1] == '\n'; /* "ClockID: " is another line */
    add(s, "the number of timers (timer_create)", "%u", n);
}

/* --- limits, priorities --- */

static void read_limits(struct adp_settings *s)
{
    static const char *const names[RLIM_NLIMITS] = {
        [RLIMIT_CPU] = "RLIMIT_CPU",           [RLIMIT_FSIZE] = "RLIMIT_FSIZE",
        [RLIMIT_DATA] = "RLIMIT_DATA",         [RLIMIT_STACK] = "RLIMIT_STACK",
        [RLIMIT_CORE] = "RLIMIT_CORE",         [RLIMIT_RSS] = "RLIMIT_RSS",
        [RLIMIT_NPROC] = "RLIMIT_NPROC",       [RLIMIT_NOFILE] = "RLIMIT_NOFILE",
        [RLIMIT_MEMLOCK] = "RLIMIT_MEMLOCK",   [RLIMIT_AS] = "RLIMIT_AS",
        [RLIMIT_LOCKS] = "RLIMIT_LOCKS",       [RLIMIT_SIGPENDING] = "RLIMIT_SIGPENDING",
        [RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE", [RLIMIT_NICE] = "RLIMIT_NICE",
        [RLIMIT_RTPRIO] = "RLIMIT_RTPRIO",     [RLIMIT_RTTIME] = "RLIMIT_RTTIME",
    };
    for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)i, &r) == 0 && names[i])
            add(s, names[i], "%lld of at most %lld", (long long)r.rlim_cur,
                (long long)r.rlim_max);
    }
}

static void read_priorities(struct adp_settings *s)
{
    struct sched_param p = { 0 };
    sched_getparam(0, &p);
    add(s, "the scheduling policy", "%d, priority %d", sched_getscheduler(0),
        p.sched_priority);
    add(s, "the priority (nice)", "%d", getpriority(PRIO_PROCESS, 0));
#if defined SYS_ioprio_get
    add(s, "the priority for disks (ioprio)", "%ld", syscall(SYS_ioprio_get, 1, 0));
#endif
    add(s, "the personality", "0x%x", (unsigned)personality(0xffffffff));
}

/* --- prctl --- */

/* `there`: the value goes where an argument points to; else it is returned. */
static const struct {
    const char *name;
    int option;
    bool there;
} controls[] = {
    { "the signal for a parent's death (PR_SET_PDEATHSIG)", PR_GET_PDEATHSIG, true },
    { "PR_SET_DUMPABLE", PR_GET_DUMPABLE, false },
    { "PR_SET_KEEPCAPS", PR_GET_KEEPCAPS, false },
    { "PR_SET_TIMERSLACK", PR_GET_TIMERSLACK, false },
    { "PR_SET_CHILD_SUBREAPER", PR_GET_CHILD_SUBREAPER, true },
    { "PR_SET_THP_DISABLE", PR_GET_THP_DISABLE, false },
    { "PR_SET_NO_NEW_PRIVS", PR_GET_NO_NEW_PRIVS, false },
    { "PR_SET_SECUREBITS", PR_GET_SECUREBITS, false },
    { "PR_MCE_KILL", PR_MCE_KILL_GET, false },
#if defined __x86_64__
    { "PR_SET_TSC", PR_GET_TSC, true },
#endif
};

static void read_controls(struct adp_settings *s)
{
    char name[32] = "";
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
        int value = 0, r;
        r = controls[i].there ? prctl(controls[i].option, &value)
                              : prctl(controls[i].option, 0, 0, 0, 0);
        add(s, controls[i].name, "%d", controls[i].there ? value : r);
    }
    prctl(PR_GET_NAME, name);
    add(s, "the name of its thread", "%.20s", name);
}

/* --- /proc/self/status --- */

/* What stands behind `name` in the text of /proc/self/status. */
static void put_line(const char *text, const char *name, char *to, size_t cap)
{
    char lead[48];
    snprintf(lead, sizeof lead, "\n%s:", name);
    const char *at = strstr(text, lead);
    at = at ? at + strlen(lead) : "";
    at += strspn(at, " \t");
    snprintf(to, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

/* Lines that only the process itself changes, and not by what it does. */
static void read_status(struct adp_settings *s)
{
    static const char *const names[] = {
        "Uid",        "Gid",     "Groups",          "CapInh",
        "CapPrm",     "CapEff",  "CapBnd",          "CapAmb",
        "NoNewPrivs", "Seccomp", "Seccomp_filters", "Cpus_allowed",
        "THP_enabled"
    };
    char text[8192], name[48], value[sizeof s->row[0].value];
    read_text("/proc/self/status", text, sizeof text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_line(text, names[i], value, sizeof value);
        snprintf(name, sizeof name, "%s of /proc/self/status", names[i]);
        add(s, name, "%s", value);
    }
    put_line(text, "VmLck", s->locked, sizeof s->locked);
}

/* --- the thread, and libc --- */

static void read_thread(struct adp_settings *s)
{
    stack_t stack = { 0 };
    int state = 0, type = 0;
    sigaltstack(NULL, &stack);
    add(s, "the stack for signals (sigaltstack)", "%s, %zu bytes at %p",
        stack.ss_flags & SS_DISABLE ? "none" : "there", stack.ss_size, stack.ss_sp);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcancelstate(state, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcanceltype(type, NULL);
    pthread_attr_t usual;
    size_t stack_bytes = 0;
    if (pthread_getattr_default_np(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &stack_bytes);
        pthread_attr_destroy(&usual);
    }
    add(s, "the stack of new threads", "%zu bytes", stack_bytes);
    add(s, "whether its thread can be cancelled", "%d, %d", state, type);
}

static void read_libc(struct adp_settings *s)
{
    add(s, "optind, which getopt goes by", "%d", optind);
    add(s, "opterr, which getopt goes by", "%d", opterr);
    add(s, "the streams stdin, stdout, stderr", "at %p, %p, %p", (void *)stdin,
        (void *)stdout, (void *)stderr);
    add(s, "program_invocation_name", "%.40s, %.40s", program_invocation_name,
        program_invocation_short_name);
    add(s, "which messages syslog takes (setlogmask)", "0x%x", (unsigned)setlogmask(0));
    add(s, "the buffer of stdout (setvbuf)", "%zu, by line %d", __fbufsize(stdout),
        __flbf(stdout) != 0);
    add(s, "the buffer of stderr (setvbuf)", "%zu, by line %d", __fbufsize(stderr),
        __flbf(stderr) != 0);
}

void adp_settings_read(struct adp_settings *s)
{
    s->n = 0;
    read_timers(s);
    read_posix_timers(s);
    read_limits(s);
    read_priorities(s);
    read_controls(s);
    read_status(s);
    read_thread(s);
    read_libc(s);
}

void adp_settings_compare(struct adp_trial *trial, const char *what,
                          const struct adp_settings *a, const struct adp_settings *b)
{
    for (uint32_t i = 0; i < a->n && i < b->n; i++)
        if (strcmp(a->row[i].value, b->row[i].value) != 0)
            adp_trial_fail(trial, "%s changed %s: %s before, %s after", what,
                           a->row[i].name, a->row[i].value, b->row[i].value);
}

void adp_settings_set_odd(void)
{
    enum { MONTHS_S = 8000000, ODD_S = 7654321, ODD_SLACK_NS = 51234, STACK = 65536 };
    static char stack[STACK];
    stack_t now = { 0 }, own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct itimerval t = { { ODD_S, 0 }, { MONTHS_S, 0 } };
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        setitimer(timers[i].which, &t, NULL);
    prctl(PR_SET_TIMERSLACK, ODD_SLACK_NS, 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1); /* lower: allowed */
    /* A sanitizer has its own. */
    if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
}

uint32_t adp_settings_free_keys(void)
{
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    uint32_t n = 0;
    while (n < PTHREAD_KEYS_MAX && pthread_key_create(&keys[n], NULL) == 0)
        n++;
    for (uint32_t i = 0; i < n; i++)
        pthread_key_delete(keys[i]);
    return n;
}
