/* SPDX-License-Identifier: MIT */
/* System calls that end the check (runtime/check/trap.h). */
#include "runtime/check/trap.h"

#include "runtime/check/child.h"

#include <fcntl.h>
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
    ROW(clock_gettime),
    ROW(clock_getres),
    ROW(gettimeofday),
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
    ROW(tkill),
    ROW(rt_sigqueueinfo),
    ROW(rt_tgsigqueueinfo),
    ROW(pidfd_send_signal),
    ROW(ptrace),
    ROW(process_vm_writev),
    ROW(process_vm_readv),
    ROW(setpgid),
    ROW(setsid),
    ROW(unlinkat),
    ROW(renameat),
    ROW(renameat2),
    ROW(mkdirat),
    ROW(mknodat),
    ROW(linkat),
    ROW(symlinkat),
    ROW(truncate),
    ROW(fchmodat),
    ROW(fchownat),
    ROW(utimensat),
    ROW(mount),
    ROW(umount2),
    ROW(openat2),
    ROW(io_uring_setup),
    ROW(setrlimit),
    ROW(prlimit64),
    ROW(setitimer),
    ROW(timer_settime),
    ROW(mlockall),
    ROW(munlockall),
    ROW(seccomp),
#if defined __x86_64__
    ROW(time),
    ROW(alarm),
    ROW(fork),
    ROW(vfork),
    ROW(open),
    ROW(stat),
    ROW(poll),
    ROW(access),
    ROW(unlink),
    ROW(rmdir),
    ROW(rename),
    ROW(mkdir),
    ROW(mknod),
    ROW(link),
    ROW(symlink),
    ROW(chmod),
    ROW(chown),
    ROW(lchown),
    ROW(creat),
    ROW(utime),
    ROW(utimes),
#endif
#undef ROW
};

/* The process's own, set before its filter is. */
static struct adp_trial *trapped;
static pid_t fenced_as; /* 0: it has no fence */

/* The text is put together by hand: the call may have come from anywhere. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    char where[256];
    (void)signal;
    (void)context;
    /* A process that was forked under the filter, and ends itself as abort does. */
    if (info->si_syscall == SYS_tgkill && getpid() != fenced_as && fenced_as)
        adp_child_exit(128 + SIGABRT);
    adp_trial_spoils(trapped);
    adp_trial_mend(trapped, ADP_MEND_REACHES_OUT);
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

#define TRAP(name) IS(name, SECCOMP_RET_TRAP)
#define ARGUMENT(i)                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i))
#define ARGUMENT_HIGH(i)                                                                 \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i) + 4)
/* A signal to this process may go; PID stands for its number, which is put in later. */
#define PID UINT32_C(0xadadadad)
#define TRAP_OTHERS(name)                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(0),                  \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PID, 0, 1), ANSWER(SECCOMP_RET_ALLOW),       \
        ANSWER(SECCOMP_RET_TRAP)
/* An answer where argument i is a pointer that is not NULL, */
#define IS_SET(name, i, what)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 6), ARGUMENT(i),                  \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2), ARGUMENT_HIGH(i),                  \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), ANSWER(what),                      \
        ANSWER(SECCOMP_RET_ALLOW)
/* and where the first one is this number. */
#define IS_FIRST(name, number, what)                                                     \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(0),                  \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(what), LOAD(nr)
/* Standard input, output and error: who closes them finds the next file in their place. */
#define IS_LOW(name, what)                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(0),                  \
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, STDERR_FILENO, 0, 1),                        \
        ANSWER(SECCOMP_RET_ALLOW), ANSWER(what)
/* Not done, and said to be. */
#define DONE (SECCOMP_RET_ERRNO | 0)
/* A file may be opened to be read; `i`: which argument has the flags. */
#define TRAP_WRITING(name, i)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(i),                  \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,                                             \
                 O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0, 1),                \
        ANSWER(SECCOMP_RET_TRAP), ANSWER(SECCOMP_RET_ALLOW)

static const struct sock_filter harm[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#if defined __x86_64__
    /* the same calls under their other numbers */
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
#endif
    /* other processes */
    TRAP_OTHERS(kill),
    TRAP_OTHERS(tgkill),
    TRAP_OTHERS(tkill),
    TRAP_OTHERS(rt_sigqueueinfo),
    TRAP_OTHERS(rt_tgsigqueueinfo),
    TRAP(pidfd_send_signal),
    TRAP(ptrace),
    TRAP(process_vm_writev),
    TRAP(setpgid),
    TRAP(setsid),
    TRAP(execve),
    TRAP(execveat),
    /* network; a socket by itself does no harm */
    TRAP(connect),
    TRAP(bind),
    TRAP(listen),
    TRAP(sendto),
    TRAP(sendmsg),
    TRAP(io_uring_setup),
    /* files */
    TRAP(unlinkat),
    TRAP(renameat),
    TRAP(renameat2),
    TRAP(mkdirat),
    TRAP(mknodat),
    TRAP(linkat),
    TRAP(symlinkat),
    TRAP(truncate),
    TRAP(fchmodat),
    TRAP(fchownat),
    TRAP(utimensat),
    TRAP(mount),
    TRAP(umount2),
    TRAP(openat2),
    TRAP_WRITING(openat, 2),
    /* what would be in our own way */
    IS(setrlimit, DONE),
    IS(setitimer, DONE),
    IS(timer_settime, DONE),
    IS(mlockall, DONE),
    IS(munlockall, DONE),
    IS_LOW(close, DONE),
#if defined __x86_64__
    IS(alarm, DONE),
#endif
    IS_SET(prlimit64, 2, DONE),
#if defined __x86_64__
    /* files again, under names that other machines do not have */
    TRAP(unlink),
    TRAP(rmdir),
    TRAP(rename),
    TRAP(mkdir),
    TRAP(mknod),
    TRAP(link),
    TRAP(symlink),
    TRAP(chmod),
    TRAP(chown),
    TRAP(lchown),
    TRAP(creat),
    TRAP(utime),
    TRAP(utimes),
    TRAP_WRITING(open, 1),
#endif
    ANSWER(SECCOMP_RET_ALLOW),
};

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

static const struct sock_filter setting[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    TRAP(setrlimit),
    TRAP(setitimer),
    TRAP(mlockall),
    TRAP(munlockall),
    TRAP(seccomp),
    IS_LOW(close, SECCOMP_RET_TRAP),
#if defined __x86_64__
    TRAP(alarm),
#endif
    IS_FIRST(prctl, PR_SET_NO_NEW_PRIVS, SECCOMP_RET_TRAP),
    IS_FIRST(prctl, PR_SET_SECCOMP, SECCOMP_RET_TRAP),
    IS_SET(prlimit64, 2, SECCOMP_RET_TRAP),
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
    ANSWER(SECCOMP_RET_TRAP),
};

static bool catch_traps(struct adp_trial *trial)
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    trapped = trial;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0;
}

static bool install_harm(void)
{
    enum { N = sizeof harm / sizeof harm[0] };
    struct sock_filter own[N];
    memcpy(own, harm, sizeof own);
    for (size_t i = 0; i < N; i++)
        if (own[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && own[i].k == PID)
            own[i].k = (uint32_t)fenced_as;
    return install(own, N);
}

bool adp_trap_set(struct adp_trial *trial, enum adp_trap trap)
{
    if (!catch_traps(trial))
        return false;
    switch (trap) {
    case ADP_TRAP_HARM:
        return install_harm();
    case ADP_TRAP_MAKING:
        return install(making, sizeof making / sizeof making[0]);
    case ADP_TRAP_SETTING:
        return install(setting, sizeof setting / sizeof setting[0]);
    default:
        return install(all, sizeof all / sizeof all[0]);
    }
}

void adp_trap_fence(struct adp_trial *trial)
{
    if (fenced_as || access("/proc/self/fd", X_OK) != 0)
        return;
    fenced_as = getpid();
    adp_trap_set(trial, ADP_TRAP_HARM);
}
