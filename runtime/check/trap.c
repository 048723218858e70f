/* SPDX-License-Identifier: MIT */
/* System calls that end the check (runtime/check/trap.h). */
#include "runtime/check/trap.h"

#include "runtime/check/call.h"
#include "runtime/check/child.h"
#include "runtime/check/fence.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* To the fence: threads it lets through. */
static bool is_for_process(int number)
{
#if defined __x86_64__
    if (number == SYS_fork || number == SYS_vfork)
        return true;
#endif
    return number == SYS_clone;
}

/* The fence's is the same fault whatever check is on its way; a trap's is what its check is
 * about. */
static void on_refusal(int number)
{
    /* A process that was forked under the filter, and ends itself as abort does. */
    if (number == SYS_tgkill && getpid() != fenced_as)
        adp_child_exit(128 + SIGABRT);
    adp_trial_mend(trapped, ADP_MEND_REACHES_OUT);
    if (is_for_process(number)) {
        char where[256];
        adp_trial_spoils(trapped);
        adp_trial_where(trapped->slate, where, sizeof where);
        adp_trial_fail(trapped, "it makes a process (the system call %s) %s",
                       adp_call_name(number), where);
    }
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

static const struct sock_filter forking[] = {
    BEGIN,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
    ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
    ANSWER(SECCOMP_RET_TRAP),
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
    case ADP_TRAP_FORKING:
        return install(forking, sizeof forking / sizeof forking[0]);
    default:
        return install(all, sizeof all / sizeof all[0]);
    }
}

static void fence(struct adp_trial *trial, enum adp_fence whose)
{
    if (fenced_as)
        return;
    trapped = trial;
    fenced_as = getpid();
    adp_fence_raise(whose, on_refusal);
}

void adp_trap_fence(struct adp_trial *trial)
{
    fence(trial, ADP_FENCE_CHECK);
}

void adp_trap_fence_to_fork(struct adp_trial *trial)
{
    fence(trial, ADP_FENCE_FORK);
}

/* --- what the checks make themselves --- */

enum { REHEARSAL_MS = 10000, UNKNOWN_CALL = -1 };

static volatile int
    *rehearsed; /* shared memory: a signal's handler is told nothing else */

static void on_own_refusal(int number)
{
    *rehearsed = number;
    adp_child_exit(1);
}

static void *come_and_go(void *none)
{
    return none;
}

static void make_own(void *none)
{
    pthread_t thread;
    (void)none;
    if (!adp_fence_raise(ADP_FENCE_FORK, on_own_refusal))
        return;
    if (pthread_create(&thread, NULL, come_and_go, NULL) == 0)
        pthread_join(thread, NULL);
    pid_t pid = fork();
    if (pid == 0)
        adp_child_exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

void adp_trap_rehearse(struct adp_trial *trial)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = REHEARSAL_MS, .stop = trial->options->stop };
    void *page = mmap(NULL, sizeof *rehearsed, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    rehearsed = page;
    adp_child_run(&child, limit, make_own, NULL);
    trial->own_call = *rehearsed;
    if (child.end == ADP_CHILD_KILLED && child.number == SIGSYS) /* it was blocked */
        trial->own_call = UNKNOWN_CALL;
    munmap(page, sizeof *rehearsed);
}

/* More than any check makes at a time beside a policy. */
enum { NEEDED_THREADS = 8, NEEDED_BYTES = 64 << 20 };

struct needs {
    volatile uint32_t met; /* shared memory */
    pthread_barrier_t all;
};

static void *stay_a_while(void *ctx)
{
    struct needs *needs = ctx;
    pthread_barrier_wait(&needs->all);
    return NULL;
}

static void make_needed(void *ctx)
{
    struct needs *needs = ctx;
    pthread_t threads[NEEDED_THREADS];
    if (!adp_fence_raise(ADP_FENCE_FORK, on_own_refusal) ||
        mmap(NULL, NEEDED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
             0) == MAP_FAILED)
        return;
    pthread_barrier_init(&needs->all, NULL, NEEDED_THREADS + 1);
    for (int i = 0; i < NEEDED_THREADS; i++)
        if (pthread_create(&threads[i], NULL, stay_a_while, needs) != 0)
            return;
    pthread_barrier_wait(&needs->all);
    for (int i = 0; i < NEEDED_THREADS; i++)
        pthread_join(threads[i], NULL);
    pid_t pid = fork();
    if (pid == 0)
        adp_child_exit(0);
    needs->met = pid > 0 && waitpid(pid, NULL, 0) == pid;
}

bool adp_trap_can_make(const struct adp_trial *trial)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = REHEARSAL_MS, .stop = trial->options->stop };
    struct needs *needs = mmap(NULL, sizeof *needs, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (needs == MAP_FAILED)
        return false;
    adp_child_run(&child, limit, make_needed, needs);
    bool met = child.finished && needs->met;
    munmap(needs, sizeof *needs);
    return met;
}

void adp_trap_must_make(struct adp_trial *trial)
{
    const char *name = adp_call_name(trial->own_call);
    if (!trial->own_call)
        return;
    if (name)
        adp_trial_skip(
            trial,
            "to make a thread or a process, the C library here makes the system call %s, "
            "which the fence does not know",
            name);
    if (trial->own_call != UNKNOWN_CALL)
        adp_trial_skip(trial,
                       "to make a thread or a process, the C library here makes system "
                       "call %d, which "
                       "the fence does not know",
                       trial->own_call);
    adp_trial_skip(
        trial,
        "to make a thread or a process, the C library here makes a system call that "
        "the fence does not know");
}

void adp_trap_thread(struct adp_trial *trial, pthread_t *ret, const pthread_attr_t *attr,
                     void *(*work)(void *ctx), void *ctx)
{
    adp_trap_must_make(trial);
    if (pthread_create(ret, attr, work, ctx) != 0)
        adp_trial_lack(trial, "no thread can be made");
}
