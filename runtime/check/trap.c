/* SPDX-License-Identifier: MIT */
/* System calls that end the check (runtime/check/trap.h). */
#include "runtime/check/trap.h"

#include "runtime/check/call.h"
#include "runtime/check/child.h"
#include "runtime/check/fence.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* The process's own, set before its filter is. */
static struct adp_trial *trapped;
static pid_t fenced_as; /* the process that asked for its fence; 0: none did */

/* The call may have come from the middle of malloc: to format a short text takes no memory. */
static void on_trap(int number)
{
    char where[256];
    const char *name = adp_call_name(number);
    adp_trial_spoils(trapped);
    adp_trial_where(trapped->slate, where, sizeof where);
    if (name)
        adp_trial_fail(trapped, "it makes the system call %s %s", name, where);
    adp_trial_fail(trapped, "it makes system call %d %s", number, where);
}

/* The fence's is the same fault whatever check is on its way; a trap's is what its check is
 * about. */
static void on_refusal(int number)
{
    /* A process that was forked under the filter, and ends itself as abort does. */
    if (number == SYS_tgkill && getpid() != fenced_as)
        adp_child_exit(128 + SIGABRT);
    adp_trial_mend(trapped, ADP_MEND_REACHES_OUT);
    on_trap(number);
}

static bool install(const struct sock_filter *filter, size_t n)
{
    struct sock_fprog program = { (unsigned short)n, (struct sock_filter *)filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define LOAD(field)                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define TRAPPED      (SECCOMP_RET_TRAP | ADP_FENCE_ASKED)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
/* What every filter begins with: the calls of another machine have other numbers. */
#define BEGIN                                                                            \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),                      \
        ANSWER(SECCOMP_RET_KILL_PROCESS), LOAD(nr)
/* The answer for one system call; any other goes on. */
#define IS(name, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ANSWER(what)

#define TRAP(name) IS(name, TRAPPED)
#define ARGUMENT(i)                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i))
#define ARGUMENT_HIGH(i)                                                                 \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i) + 4)
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

static const struct sock_filter making[] = {
    BEGIN,
    TRAP(socket),
    TRAP(socketpair),
    TRAP(connect),
    TRAP(bind),
    TRAP(listen),
    TRAP(clone),
    TRAP(clone3),
    TRAP(execve),
    TRAP(execveat),
#if defined __x86_64__
    TRAP(fork),
    TRAP(vfork),
#endif
    ANSWER(SECCOMP_RET_ALLOW),
};

static const struct sock_filter setting[] = {
    BEGIN,
    TRAP(setrlimit),
    TRAP(setitimer),
    TRAP(sched_setscheduler),
    TRAP(mlockall),
    TRAP(munlockall),
    TRAP(seccomp),
    IS_LOW(close, TRAPPED),
#if defined __x86_64__
    TRAP(alarm),
#endif
    IS_FIRST(prctl, PR_SET_NO_NEW_PRIVS, TRAPPED),
    IS_FIRST(prctl, PR_SET_SECCOMP, TRAPPED),
    IS_SET(prlimit64, 2, TRAPPED),
    ANSWER(SECCOMP_RET_ALLOW),
};

static const struct sock_filter all[] = {
    BEGIN,
    IS(exit_group, SECCOMP_RET_ALLOW),
    /* ASan looks at it before each call that does not return, such as our last one. */
    IS(sigaltstack, SECCOMP_RET_ALLOW),
    ANSWER(TRAPPED),
};

bool adp_trap_set(struct adp_trial *trial, enum adp_trap trap)
{
    trapped = trial;
    if (!adp_fence_catch(on_trap))
        return false;
    switch (trap) {
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
    if (fenced_as)
        return;
    trapped = trial;
    fenced_as = getpid();
    adp_fence_raise(ADP_FENCE_CHECK, on_refusal);
}
