/* SPDX-License-Identifier: MIT */
/* Work in a process of its own (apart.h). */
#include "runtime/supervise/apart.h"

#include "runtime/supervise/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void run_child(int (*work)(void *ctx, int to), void *ctx, int to,
                                pid_t parent)
{
    const struct rlimit no_core = { 1, 1 }; /* as spawn.c */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setrlimit(RLIMIT_CORE, &no_core);
    int status = work(ctx, to);
    fflush(NULL);
    _exit(status);
}

/* Until its end of the pipe is closed, which it is when it has ended. False: it was not in
 * time. */
static bool read_answer(int from, uint32_t within_ms, char *ret, size_t cap)
{
    uint64_t until = adp_supervise_now() + within_ms * 1000000ull;
    size_t len = 0;
    char rest[256];
    for (;;) {
        uint64_t now = adp_supervise_now();
        struct pollfd p = { .fd = from, .events = POLLIN };
        ret[len] = '\0';
        if (now >= until)
            return false;
        int n = poll(&p, 1, (int)((until - now) / 1000000u) + 1);
        if (n <= 0)
            continue;
        bool room = len + 1 < cap;
        ssize_t got =
            read(from, room ? ret + len : rest, room ? cap - len - 1 : sizeof rest);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        if (got > 0 && room)
            len += (size_t)got;
    }
}

static int tell_death(int signal, bool late, uint32_t within_ms, struct adp_error *err)
{
    if (late)
        return adp_error_set(err, ADP_EIO, "did not return within %g s",
                             (double)within_ms * 1e-3);
    const char *name = sigabbrev_np(signal);
    return adp_error_set(err, ADP_EIO, "died of SIG%s", name ? name : "?");
}

int adp_apart(int (*work)(void *ctx, int to), void *ctx, uint32_t within_ms, char *ret,
              size_t cap, struct adp_error *err)
{
    int pair[2], status = 0;
    pid_t parent = getpid();
    if (pipe2(pair, O_CLOEXEC) < 0)
        return adp_error_set(err, ADP_EIO, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        run_child(work, ctx, pair[1], parent);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return adp_error_set(err, ADP_EIO, "cannot make a process: %s", strerror(errno));
    }
    bool late = !read_answer(pair[0], within_ms, ret, cap);
    close(pair[0]);
    if (late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && !late
               ? WEXITSTATUS(status)
               : tell_death(WTERMSIG(status), late, within_ms, err);
}
