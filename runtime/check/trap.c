/* SPDX-License-Identifier: MIT */
/* System calls that end the check (runtime/check/trap.h). */
#include "runtime/check/trap.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

static const struct {
    int number;
    const char *name;
} names[] = {
#define ROW(name)                                                                        \
    {                                                                                    \
        SYS_##name, #name                                                                \
    }
    ROW(socket),
    ROW(socketpair),
    ROW(connect),
    ROW(bind),
    ROW(listen),
    ROW(clone),
    ROW(clone3),
    ROW(execve),
    ROW(execveat),
    ROW(read),
    ROW(write),
    ROW(writev),
    ROW(pread64),
    ROW(pwrite64),
    ROW(openat),
    ROW(close),
    ROW(fstat),
    ROW(newfstatat),
    ROW(lseek),
    ROW(mmap),
    ROW(munmap),
    ROW(mprotect),
    ROW(madvise),
    ROW(brk),
    ROW(mremap),
    ROW(futex),
    ROW(sched_yield),
    ROW(nanosleep),
    ROW(getrandom),
    ROW(clock_nanosleep),
    ROW(getpid),
    ROW(gettid),
    ROW(getppid),
    ROW(getuid),
    ROW(kill),
    ROW(tgkill),
    ROW(rt_sigaction),
    ROW(rt_sigprocmask),
    ROW(prctl),
    ROW(ioctl),
    ROW(sendto),
    ROW(recvfrom),
    ROW(sendmsg),
    ROW(recvmsg),
    ROW(getrusage),
    ROW(sysinfo),
    ROW(times),
    ROW(ppoll),
    ROW(sched_getaffinity),
    ROW(getcpu),
    ROW(membarrier),
    ROW(rseq),
#if defined __x86_64__
    ROW(fork),
    ROW(vfork),
    ROW(open),
    ROW(stat),
    ROW(poll),
    ROW(access),
#endif
#undef ROW
};

static struct adp_trial *trapped; /* set before the filter is */

/* The text is put together by hand: the call may have come from anywhere. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    char where[256];
    (void)signal;
    (void)context;
    adp_trial_where(trapped->slate, where, sizeof where);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == info->si_syscall)
            adp_trial_fail(trapped, "it makes the system call %s %s", names[i].name,
                           where);
    adp_trial_fail(trapped, "it makes system call %d %s", info->si_syscall, where);
}

static bool install(const struct sock_filter *filter, size_t n)
{
    struct sock_fprog program = { (unsigned short)n, (struct sock_filter *)filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define LOAD(field)                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
/* The answer for one system call; any other goes on. */
#define IS(name, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ANSWER(what)

static const struct sock_filter making[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    IS(socket, SECCOMP_RET_TRAP),
    IS(socketpair, SECCOMP_RET_TRAP),
    IS(connect, SECCOMP_RET_TRAP),
    IS(bind, SECCOMP_RET_TRAP),
    IS(listen, SECCOMP_RET_TRAP),
    IS(clone, SECCOMP_RET_TRAP),
    IS(clone3, SECCOMP_RET_TRAP),
    IS(execve, SECCOMP_RET_TRAP),
    IS(execveat, SECCOMP_RET_TRAP),
#if defined __x86_64__
    IS(fork, SECCOMP_RET_TRAP),
    IS(vfork, SECCOMP_RET_TRAP),
#endif
    ANSWER(SECCOMP_RET_ALLOW),
};

static const struct sock_filter all[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    IS(exit_group, SECCOMP_RET_ALLOW),
    /* ASan looks at it before each call that does not return, such as our last one. */
    IS(sigaltstack, SECCOMP_RET_ALLOW),
    IS(clock_gettime, SECCOMP_RET_ALLOW),
    IS(clock_getres, SECCOMP_RET_ALLOW),
    IS(gettimeofday, SECCOMP_RET_ALLOW),
#if defined __x86_64__
    IS(time, SECCOMP_RET_ALLOW),
#endif
    ANSWER(SECCOMP_RET_TRAP),
};

bool adp_trap_set(struct adp_trial *trial, enum adp_trap trap)
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    trapped = trial;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSYS, &action, NULL) != 0)
        return false;
    return trap == ADP_TRAP_ALL ? install(all, sizeof all / sizeof all[0])
                                : install(making, sizeof making / sizeof making[0]);
}
