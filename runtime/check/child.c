/* SPDX-License-Identifier: MIT */
/* Processes that may end in any way (runtime/check/child.h). */
#include "runtime/check/child.h"

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

/* An exit ends here: what was registered before the fork is the parent's to be run, once,
 * and may take its time (a sanitizer looks for leaks). What comes later, of whatever is
 * tried, has run by now. */
static void end_at_once(int status, void *none)
{
    (void)none;
    adp_child_exit(status);
}

/* Ends with work's return, which `came_back`, shared memory, tells from an exit. */
static _Noreturn void be_child(pid_t parent, bool nested, int output,
                               volatile uint32_t *came_back, void (*work)(void *ctx),
                               void *ctx)
{
    struct rlimit none = { 0, 0 };
    int null = nested ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (output < 0)
        output = null;
    if (!nested)
        setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        adp_child_exit(1);
    setrlimit(RLIMIT_CORE, &none);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
    }
    if (null > STDERR_FILENO)
        close(null);
    if (output > STDERR_FILENO && output != null)
        close(output);
    if (on_exit(end_at_once, NULL) != 0)
        adp_child_exit(1);
    work(ctx);
    *came_back = 1;
    adp_child_exit(0);
}

static bool is_to_stop(struct adp_child_limit limit)
{
    return limit.stop && *limit.stop;
}

/* Whether it ended in time. Without pidfd_open (before Linux 5.3): looked at each
 * millisecond. */
static bool wait_for(pid_t pid, struct adp_child_limit limit)
{
    int fd = pidfd_open(pid, 0);
    if (fd >= 0) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int r;
        do
            r = poll(&p, 1, (int)limit.ms);
        while (r < 0 && errno == EINTR && !is_to_stop(limit));
        close(fd);
        return r > 0;
    }
    for (uint32_t ms = 0; ms < limit.ms && !is_to_stop(limit); ms++) {
        siginfo_t info = { 0 };
        struct timespec one = { 0, 1000000 };
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid)
            return true;
        nanosleep(&one, NULL);
    }
    return false;
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

static void read_end(struct adp_child *ret, int status, bool in_time)
{
    if (!in_time)
        ret->end = ADP_CHILD_HUNG;
    else if (WIFSIGNALED(status))
        ret->end = ADP_CHILD_KILLED;
    else
        ret->end = WEXITSTATUS(status) ? ADP_CHILD_EXITED : ADP_CHILD_RETURNED;
    ret->number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits, and leaves nothing of it running. */
static void see_off(struct adp_child *ret, pid_t pid, struct adp_child_limit limit)
{
    int status = 0;
    bool in_time = wait_for(pid, limit);
    if (limit.nested && !in_time) {
        read_end(ret, status, in_time);
        return;
    }
    if (!limit.nested) {
        kill(-pid, SIGKILL); /* it leads a session, unless it has not come so far: */
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    read_end(ret, status, in_time);
}

void adp_child_run(struct adp_child *ret, struct adp_child_limit limit,
                   void (*work)(void *ctx), void *ctx)
{
    *ret = (struct adp_child) { .end = ADP_CHILD_NONE };
    volatile uint32_t *came_back = mmap(NULL, sizeof *came_back, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (came_back == MAP_FAILED) {
        ret->number = errno;
        return;
    }
    int output = memfd_create("output", MFD_CLOEXEC);
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        be_child(self, limit.nested, output, came_back, work, ctx);
    if (pid < 0)
        ret->number = errno;
    else
        see_off(ret, pid, limit);
    ret->finished = ret->end == ADP_CHILD_RETURNED && *came_back == 1;
    munmap((void *)came_back, sizeof *came_back);
    if (output >= 0) {
        read_last_line(output, ret->said, sizeof ret->said);
        close(output);
    }
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
        else
            snprintf(to, cap, "the process was killed by SIG%s", name ? name : "?");
        break;
    case ADP_CHILD_HUNG:
        snprintf(to, cap, "it did not come back within %g s", limit_ms / 1e3);
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
