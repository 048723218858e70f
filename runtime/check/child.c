/* SPDX-License-Identifier: MIT */
/* Processes that may end in any way (runtime/check/child.h). */
#include "runtime/check/child.h"

#include "runtime/check/timing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void adp_child_exit(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

/* What a process shares with the one that waits for it. */
struct page {
    volatile uint32_t came_back; /* `work` did */
    volatile uint32_t nested;    /* it waits for a child of its own */
};

static struct page *own; /* this process's, if it is a child; or NULL */

/* An exit ends here: what was registered before the fork is the parent's to be run, once,
 * and may take its time (a sanitizer looks for leaks). What comes later, of whatever is
 * tried, has run by now. */
static void end_at_once(int status, void *none)
{
    (void)none;
    adp_child_exit(status);
}

/* Its first three descriptors are three files, each its own: that one was put in another's
 * place shows. */
static void take_descriptors(bool nested, const int output[2])
{
    int null = nested ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    for (int i = 0; i < 2; i++) {
        int to = output[i] >= 0 ? output[i] : null;
        if (to >= 0)
            dup2(to, STDOUT_FILENO + i);
    }
    if (null > STDERR_FILENO)
        close(null);
    for (int i = 0; i < 2; i++)
        if (output[i] > STDERR_FILENO)
            close(output[i]);
}

/* Ends with work's return, which `came_back`, shared memory, tells from an exit. */
static _Noreturn void be_child(pid_t parent, bool nested, const int output[2],
                               struct page *page, void (*work)(void *ctx), void *ctx)
{
    struct rlimit none = { 0, 0 };
    if (!own) /* else it stays with the child that made it, and is killed with that one's */
        setsid();
    own = page;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        adp_child_exit(1);
    setrlimit(RLIMIT_CORE, &none);
    take_descriptors(nested, output);
    if (on_exit(end_at_once, NULL) != 0)
        adp_child_exit(1);
    work(ctx);
    page->came_back = 1;
    adp_child_exit(0);
}

static bool is_to_stop(struct adp_child_limit limit)
{
    return limit.stop && *limit.stop;
}

/* --- how long --- */

enum { SLICE_MS = 50 };
static const uint64_t MS = 1000000; /* ns */

/* 'R', 'S', ... of one thread; 0: it is gone. Its name, in brackets, may hold anything. */
static char state_of(const char *stat_path)
{
    char text[512];
    int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

/* Whether it could go on if it were let: a thread that computes, or would; one that a debugger
 * holds. One that nothing can wake (D) waits, as for a process that it has made by vfork: what
 * is tried can bring that about, and a disk makes nobody wait as long as the limit. */
static bool is_ready(pid_t pid)
{
    char folder[48], path[340];
    bool ready = false;
    struct dirent *e;
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *d = opendir(folder);
    while (d && !ready && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s/stat", folder, e->d_name);
        char state = e->d_name[0] == '.' ? '\0' : state_of(path);
        ready = state == 'R' || state == 't';
    }
    if (d)
        closedir(d);
    return ready;
}

/* What a process has spent of its limit, looked at each slice. */
struct spent {
    pid_t pid;
    const struct page *page;
    clockid_t clock;
    bool has_clock; /* else every moment counts as waiting */
    uint64_t start_ns, last_ns, last_cpu_ns, waited_ns;
};

static void look_at_time(struct spent *s)
{
    uint64_t now = adp_timing_ns(CLOCK_MONOTONIC), cpu = s->last_cpu_ns;
    if (s->has_clock)
        cpu = adp_timing_ns(s->clock);
    uint64_t slice = now - s->last_ns;
    uint64_t computed = cpu > s->last_cpu_ns ? cpu - s->last_cpu_ns : 0;
    /* Looked at once a slice: who was found waiting, and computed less than half of it. */
    if (!s->page->nested && computed < slice / 2 && !is_ready(s->pid))
        s->waited_ns += slice - computed;
    s->last_ns = now;
    s->last_cpu_ns += computed;
}

static enum adp_child_hung is_over(const struct spent *s, struct adp_child_limit limit)
{
    uint64_t most = limit.ms * MS;
    if (s->last_cpu_ns >= most)
        return ADP_HUNG_COMPUTING;
    if (s->waited_ns >= most)
        return ADP_HUNG_WAITING;
    if (s->last_ns - s->start_ns >= ADP_CHILD_PATIENCE * most)
        return ADP_HUNG_STARVING;
    return is_to_stop(limit) ? ADP_HUNG_STOPPED : ADP_HUNG_NOT;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

/* One slice, or until it ended: without pidfd_open (before Linux 5.3) looked at each
 * millisecond. A signal, which may be to stop us, ends it too. */
static bool ends_within_slice(int fd, pid_t pid)
{
    struct timespec one = { 0, 1000000 };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    if (fd >= 0)
        return poll(&p, 1, SLICE_MS) > 0;
    for (int ms = 0; ms < SLICE_MS; ms++) {
        if (has_ended(pid))
            return true;
        if (nanosleep(&one, NULL) != 0)
            break;
    }
    return false;
}

static enum adp_child_hung wait_for(pid_t pid, const struct page *page,
                                    struct adp_child_limit limit)
{
    struct spent s = { .pid = pid, .page = page };
    enum adp_child_hung hung = ADP_HUNG_NOT;
    int fd = pidfd_open(pid, 0);
    s.has_clock = clock_getcpuclockid(pid, &s.clock) == 0;
    s.start_ns = s.last_ns = adp_timing_ns(CLOCK_MONOTONIC);
    while (!hung && !ends_within_slice(fd, pid)) {
        look_at_time(&s);
        hung = is_over(&s, limit);
    }
    if (fd >= 0)
        close(fd);
    return hung;
}

/* The last line that has something in it. Sanitizers end with such lines too. */
static void read_last_line(int fd, char *to, size_t cap)
{
    char text[2048];
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t n = pread(fd, text, sizeof text - 1, from);
    to[0] = '\0';
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    if (n <= 0)
        return;
    text[n] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(to, cap, "%.*s", (int)cap - 1, line ? line + 1 : text);
}

static void read_end(struct adp_child *ret, int status)
{
    if (ret->hung)
        ret->end = ADP_CHILD_HUNG;
    else if (WIFSIGNALED(status))
        ret->end = ADP_CHILD_KILLED;
    else
        ret->end = WEXITSTATUS(status) ? ADP_CHILD_EXITED : ADP_CHILD_RETURNED;
    ret->number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits, and leaves nothing of it running. */
static void see_off(struct adp_child *ret, pid_t pid, const struct page *page,
                    struct adp_child_limit limit)
{
    struct rusage used = { 0 };
    int status = 0;
    ret->hung = wait_for(pid, page, limit);
    if (limit.nested && ret->hung) {
        read_end(ret, status);
        return;
    }
    if (!limit.nested) {
        kill(-pid, SIGKILL); /* it leads a session, unless it has not come so far: */
        kill(pid, SIGKILL);
    }
    while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
        ;
    ret->computed_s = (uint32_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    read_end(ret, status);
}

/* The last thing that was said of errors, or else what was printed. */
static void read_output(struct adp_child *ret, const int output[2])
{
    for (int i = 1; i >= 0; i--) {
        if (output[i] < 0)
            continue;
        if (!ret->said[0])
            read_last_line(output[i], ret->said, sizeof ret->said);
        close(output[i]);
    }
}

void adp_child_run(struct adp_child *ret, struct adp_child_limit limit,
                   void (*work)(void *ctx), void *ctx)
{
    *ret = (struct adp_child) { .end = ADP_CHILD_NONE };
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        ret->number = errno;
        return;
    }
    int output[2] = { memfd_create("output", MFD_CLOEXEC),
                      memfd_create("errors", MFD_CLOEXEC) };
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        be_child(self, limit.nested, output, page, work, ctx);
    if (own)
        own->nested = 1;
    if (pid < 0)
        ret->number = errno;
    else
        see_off(ret, pid, page, limit);
    if (own)
        own->nested = 0;
    ret->finished = ret->end == ADP_CHILD_RETURNED && page->came_back == 1;
    munmap(page, sizeof *page);
    read_output(ret, output);
}

static bool is_out_of_time(const struct adp_child *child)
{
    struct rlimit ours;
    return child->end == ADP_CHILD_KILLED &&
           (child->number == SIGXCPU || child->number == SIGKILL) &&
           getrlimit(RLIMIT_CPU, &ours) == 0 && ours.rlim_cur != RLIM_INFINITY &&
           child->computed_s + 1 >= ours.rlim_cur; /* each half was rounded down */
}

bool adp_child_hindered(const struct adp_child *child)
{
    return child->end == ADP_CHILD_NONE || child->hung == ADP_HUNG_STARVING ||
           is_out_of_time(child);
}

static void say_hung(enum adp_child_hung hung, uint32_t limit_ms, char *to, size_t cap)
{
    double limit_s = limit_ms / 1e3;
    if (hung == ADP_HUNG_STARVING)
        snprintf(
            to, cap,
            "it did not come back within %g s, most of them without a processor: the "
            "machine is busy",
            ADP_CHILD_PATIENCE * limit_s);
    else if (hung == ADP_HUNG_STOPPED)
        snprintf(to, cap, "it had not come back when all was stopped");
    else
        snprintf(to, cap, "it did not come back within %g s of %s", limit_s,
                 hung == ADP_HUNG_WAITING ? "waiting" : "computing");
}

void adp_child_words(const struct adp_child *child, uint32_t limit_ms, char *to,
                     size_t cap)
{
    const char *name = sigabbrev_np(child->number);
    switch (child->end) {
    case ADP_CHILD_KILLED:
        if (child->number == SIGSYS) /* with signals blocked, as pthread_create does */
            snprintf(to, cap,
                     "it makes a system call that it may not make, such as for a "
                     "thread or a process (SIGSYS),");
        else if (is_out_of_time(child))
            snprintf(to, cap, "the limit on processor time (ulimit -t) ended it");
        else
            snprintf(to, cap, "the process was killed by SIG%s", name ? name : "?");
        break;
    case ADP_CHILD_HUNG:
        say_hung(child->hung, limit_ms, to, cap);
        break;
    case ADP_CHILD_NONE:
        snprintf(to, cap, "no process could be made: %s", strerror(child->number));
        break;
    case ADP_CHILD_RETURNED:
    case ADP_CHILD_EXITED:
        snprintf(to, cap, "it ended the process, with status %d", child->number);
        break;
    }
}
