/* SPDX-License-Identifier: MIT */
/* What goes through the fence, and what does not. Each call is made in a process of its own,
 * with arguments by which it would do no harm if there were no fence. */
#include "runtime/check/fence.h"

#include "runtime/check/call.h"
#include "runtime/check/child.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 20000 };

/* The child's and ours. */
static struct record {
    enum adp_fence whose;
    int row;
    bool is_fenced;
    int refused; /* the number of the call that was; 0: none */
    long answer; /* of one that was made */
    int error;
    unsigned kept; /* what it may have changed, afterwards */
} * record;

static void refused(int number)
{
    record->refused = number;
    adp_child_exit(0);
}

static void make_record(void)
{
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(record, MAP_FAILED);
}

static bool raise_fence(void)
{
    return record->is_fenced = adp_fence_raise(record->whose, refused);
}

static void finishes_behind(enum adp_fence whose, void (*work)(void *))
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    make_record();
    record->whose = whose;
    adp_child_run(&child, limit, work, NULL);
    ck_assert(child.finished);
}

/* --- what is refused --- */

enum { NOBODY = -1, PARENT = -4321, ITSELF = -4322 }; /* in place of an argument */
enum { MOVES_ALL = 1 << 2, MOVES_OWN = 1 << 1 };      /* pages, MPOL_MF_… */
enum { IN_BOTH, IN_LOOK };                            /* whose fence refuses it */

static const struct {
    long number;
    int where;
    long arguments[6];
} forbidden[] = {
    /* signals to another process, and what else there is to do to one */
    { SYS_kill, IN_BOTH, { PARENT, 0 } },
    { SYS_kill, IN_BOTH, { 0, 0 } },
    { SYS_kill, IN_BOTH, { -1, 0 } },
    { SYS_tkill, IN_BOTH, { PARENT, 0 } },
    { SYS_tgkill, IN_BOTH, { PARENT, PARENT, 0 } },
    { SYS_rt_sigqueueinfo, IN_BOTH, { PARENT, 0, 0 } },
    { SYS_rt_tgsigqueueinfo, IN_BOTH, { PARENT, PARENT, 0, 0 } },
    { SYS_pidfd_send_signal, IN_BOTH, { NOBODY, 0, 0, 0 } },
    { SYS_pidfd_getfd, IN_BOTH, { NOBODY, 1, 0 } },
    { SYS_pidfd_open, IN_LOOK, { PARENT, 0 } },
    { SYS_ptrace, IN_BOTH, { -1, PARENT, 0, 0 } },
    { SYS_process_vm_readv, IN_BOTH, { PARENT, 0, 0, 0, 0 } },
    { SYS_process_vm_writev, IN_BOTH, { PARENT, 0, 0, 0, 0 } },
    { SYS_prlimit64, IN_BOTH, { PARENT, -1, 1, 0 } },
    { SYS_setpriority, IN_BOTH, { PRIO_PROCESS, PARENT, 0 } },
    { SYS_sched_setaffinity, IN_BOTH, { PARENT, 0, 0 } },
    { SYS_sched_setscheduler, IN_BOTH, { PARENT, -1, 0 } },
    { SYS_setpgid, IN_BOTH, { PARENT, -1 } },
    { SYS_setsid, IN_BOTH, { 0 } },
    /* files */
    { SYS_openat, IN_BOTH, { AT_FDCWD, 0, O_WRONLY } },
    { SYS_openat, IN_BOTH, { AT_FDCWD, 0, O_RDWR } },
    { SYS_openat, IN_BOTH, { AT_FDCWD, 0, O_RDONLY | O_CREAT } },
    { SYS_openat, IN_BOTH, { AT_FDCWD, 0, O_RDONLY | O_TRUNC } },
    { SYS_openat2, IN_BOTH, { AT_FDCWD, 0, 0, 0 } },
    { SYS_fchmod, IN_BOTH, { NOBODY, 0 } },
    { SYS_fchmodat, IN_BOTH, { AT_FDCWD, 0, 0 } },
    { SYS_fchown, IN_BOTH, { NOBODY, -1, -1 } },
    { SYS_setxattr, IN_BOTH, { 0, 0, 0, 0, 0 } },
    { SYS_fsetxattr, IN_BOTH, { NOBODY, 0, 0, 0, 0 } },
    { SYS_utimensat, IN_BOTH, { NOBODY, 0, 0, 0 } },
    { SYS_unlinkat, IN_BOTH, { AT_FDCWD, 0, 0 } },
    { SYS_ftruncate, IN_BOTH, { STDOUT_FILENO, -1 } },
    { SYS_fallocate, IN_BOTH, { STDERR_FILENO, 0, 0, 0 } },
    { SYS_truncate, IN_BOTH, { 0, 0 } },
    { SYS_flock, IN_BOTH, { NOBODY, 0 } },
    { SYS_fcntl, IN_BOTH, { NOBODY, F_SETLK, 0 } },
    { SYS_ioctl, IN_BOTH, { NOBODY, TIOCSTI, 0 } },
    { SYS_mknodat, IN_BOTH, { AT_FDCWD, 0, 0, 0 } },
    /* the machine */
    { SYS_sethostname, IN_BOTH, { 0, -1 } },
    { SYS_setdomainname, IN_BOTH, { 0, -1 } },
    { SYS_clock_settime, IN_BOTH, { -1, 0 } },
    { SYS_mount, IN_BOTH, { 0, 0, 0, 0, 0 } },
    { SYS_shmget, IN_BOTH, { 0, -1, 0 } },
    { SYS_keyctl, IN_BOTH, { -1, 0 } },
    { SYS_bpf, IN_BOTH, { -1, 0, 0 } },
    { SYS_reboot, IN_BOTH, { 0, 0, 0, 0 } },
    { SYS_madvise, IN_BOTH, { 0, 0, 100 } },
    { SYS_madvise, IN_BOTH, { 0, 0, 101 } },
    /* the process as others see it */
    { SYS_unshare, IN_BOTH, { 0 } },
    { SYS_setns, IN_BOTH, { NOBODY, 0 } },
    { SYS_chroot, IN_BOTH, { 0 } },
    { SYS_setuid, IN_BOTH, { -1 } },
    { SYS_mlock, IN_LOOK, { 0, 0 } },
    { SYS_mlock2, IN_LOOK, { 0, 0, 0 } },
    { SYS_mbind, IN_BOTH, { 0, 0, -1, 0, 0, MOVES_ALL } },
    { SYS_set_mempolicy, IN_BOTH, { -1, 0, 0 } },
    { SYS_prctl, IN_BOTH, { PR_SET_PTRACER, 0, 0, 0, 0 } },
    { SYS_prctl, IN_BOTH, { PR_SET_SPECULATION_CTRL, -1, 0, 0, 0 } },
    { SYS_prctl, IN_BOTH, { PR_SET_DUMPABLE, 1, 0, 0, 0 } },
    { SYS_personality, IN_BOTH, { 0 } },
    /* programs, processes, connections */
    { SYS_execve, IN_BOTH, { 0, 0, 0 } },
    { SYS_execveat, IN_BOTH, { NOBODY, 0, 0, 0, 0 } },
    { SYS_clone, IN_BOTH, { CLONE_NEWUSER | CLONE_THREAD, 0, 0, 0, 0 } },
    { SYS_clone, IN_BOTH, { CLONE_SIGHAND, 0, 0, 0, 0 } }, /* a process */
    { SYS_clone, IN_LOOK, { CLONE_THREAD, 0, 0, 0, 0 } },
    { SYS_clone3, IN_LOOK, { 0, 0 } },
    { SYS_connect, IN_BOTH, { NOBODY, 0, 0 } },
    { SYS_bind, IN_BOTH, { NOBODY, 0, 0 } },
    { SYS_sendto, IN_BOTH, { NOBODY, 0, 0, 0, 0 } },
    { SYS_socket, IN_LOOK, { AF_UNIX, -1, 0 } },
    { SYS_socket, IN_BOTH, { AF_NETLINK, -1, 0 } },
    { SYS_socketpair, IN_BOTH, { AF_INET, -1, 0, 0 } },
    { SYS_io_uring_setup, IN_BOTH, { 0, 0 } },
    /* the fence itself */
    { SYS_rt_sigaction, IN_BOTH, { SIGSYS, 8, 0, 0 } },
    { SYS_seccomp, IN_BOTH, { -1, 0, 0 } },
    { SYS_prctl, IN_LOOK, { PR_SET_SECCOMP, -1, 0, 0, 0 } },
    /* what nobody has named yet; and calls under the numbers of another kind of program */
    { 4000, IN_BOTH, { 0 } },
#if defined __x86_64__
    { SYS_open, IN_BOTH, { 0, O_WRONLY } },
    { SYS_chmod, IN_BOTH, { 0, 0 } },
    { SYS_utimes, IN_BOTH, { 0, 0 } },
    { SYS_vfork, IN_BOTH, { 0 } },
    { 0x40000000 | SYS_kill, IN_BOTH, { PARENT, 0 } },
#endif
};

static void make_forbidden(void *none)
{
    long a[6];
    (void)none;
    for (int i = 0; i < 6; i++) {
        a[i] = forbidden[record->row].arguments[i];
        if (a[i] == PARENT)
            a[i] = getppid();
    }
    if (raise_fence())
        syscall(forbidden[record->row].number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void try_forbidden(int row, enum adp_fence whose)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    const char *name = adp_call_name((int)forbidden[row].number);
    *record = (struct record) { .whose = whose, .row = row };
    adp_child_run(&child, limit, make_forbidden, NULL);
    if (!record->is_fenced)
        return; /* this system allows none */
    ck_assert_msg(record->refused == forbidden[row].number,
                  "row %d, %s: %d was refused, the process %s", row, name ? name : "?",
                  record->refused, child.finished ? "went on" : "ended");
}

START_TEST(what_reaches_beyond_the_process_is_refused_by_its_number)
{
    make_record();
    try_forbidden(_i, ADP_FENCE_LOOK);
    if (forbidden[_i].where == IN_BOTH)
        try_forbidden(_i, ADP_FENCE_CHECK);
}
END_TEST

/* --- what goes on --- */

enum { ANY_ERROR = -1 }; /* not every machine has it, or lets everybody have it */

static const struct {
    long number;
    long arguments[6];
    long answer; /* -1: whatever it is, it is made */
    int error;
} allowed[] = {
    { SYS_getppid, { 0 }, -1, 0 },
    { SYS_kill, { ITSELF, 0 }, 0, 0 },
    { SYS_openat, { AT_FDCWD, 0, O_RDONLY | O_CLOEXEC }, -1, EFAULT },
    { SYS_fchdir, { NOBODY }, -1, EBADF },
    { SYS_write, { NOBODY, 0, 0 }, -1, EBADF },
    { SYS_getrandom, { 0, 0, 0 }, 0, 0 },
    { SYS_statx, { NOBODY, 0, 0, 0, 0 }, -1, EFAULT },
    { SYS_sched_getaffinity, { 0, 0, 0 }, -1, EINVAL },
    { SYS_madvise, { 0, 0, MADV_DONTNEED }, 0, 0 },
    { SYS_personality, { 0xffffffff }, -1, 0 },
    /* what newer C libraries ask for: guard pages (MADV_GUARD_INSTALL and _REMOVE) and what
     * madvise may learn next, mseal, map_shadow_stack, futex_waitv and its kin, TCGETS2 */
    { SYS_madvise, { 0, 0, 102 }, -1, ANY_ERROR },
    { SYS_madvise, { 0, 0, 103 }, -1, ANY_ERROR },
    { SYS_madvise, { 0, 0, 104 }, -1, ANY_ERROR },
    { 462, { 1, 0, 0 }, -1, ANY_ERROR },
    { 453, { 0, 0, -1 }, -1, ANY_ERROR },
    { 450, { 1, 0, 0, 0 }, -1, ANY_ERROR },
    { 449, { 0, 0, -1, 0, 0 }, -1, ANY_ERROR },
    { 454, { 0, 0, 0, -1 }, -1, ANY_ERROR },
    { 455, { 0, 0, 0, -1, 0, 0 }, -1, ANY_ERROR },
    { 456, { 0, -1, 0, 0 }, -1, ANY_ERROR },
    { 441, { NOBODY, 0, 0, 0, 0, 0 }, -1, ANY_ERROR },
    { SYS_preadv2, { NOBODY, 0, 0, 0, 0, 0 }, -1, EBADF },
    { SYS_ioctl, { NOBODY, 0x802c542a, 0 }, -1, EBADF },
    { SYS_membarrier, { 0, 0, 0 }, -1, ANY_ERROR },
    { SYS_rseq, { 1, 0, -1, 0 }, -1, ANY_ERROR },
    { SYS_set_robust_list, { 0, 0 }, -1, ANY_ERROR },
    { SYS_prctl, { 0x53564d41, -1, 0, 0, 0 }, -1, ANY_ERROR }, /* PR_SET_VMA */
    { SYS_prctl, { 74, 0, 0, 0, 0 }, -1, ANY_ERROR },  /* PR_GET_SHADOW_STACK_STATUS */
    { SYS_prctl, { 78, -1, 0, 0, 0 }, -1, ANY_ERROR }, /* PR_FUTEX_HASH */
    { SYS_prctl, { PR_GET_DUMPABLE, 0, 0, 0, 0 }, -1, 0 },
    { SYS_rt_sigaction, { SIGSYS, 0, 0, 8 }, 0, 0 },
    { SYS_rt_sigaction, { SIGUSR1, 0, 0, 8 }, 0, 0 },
    { SYS_memfd_create, { 0, 0 }, -1, EFAULT },
    { SYS_ftruncate, { NOBODY, 0 }, -1, EBADF },
    { SYS_fallocate, { NOBODY, 0, 0, 1 }, -1, EBADF },
    { SYS_fadvise64, { NOBODY, 0, 0, 0 }, -1, EBADF },
    { SYS_ioctl, { NOBODY, FIONREAD, 0 }, -1, EBADF },
    { SYS_mbind, { 1, 0, 0, 0, 0, MOVES_OWN }, -1, ANY_ERROR },
    { SYS_get_mempolicy, { 0, 0, 0, 0, 0 }, -1, ANY_ERROR },
    { SYS_pkey_alloc, { -1, 0 }, -1, ANY_ERROR },
    { SYS_pkey_free, { NOBODY }, -1, ANY_ERROR },
    { SYS_pkey_mprotect, { 1, 0, 0, NOBODY }, -1, ANY_ERROR },
};

static void make_allowed(void *none)
{
    long a[6];
    (void)none;
    for (int i = 0; i < 6; i++) {
        a[i] = allowed[record->row].arguments[i];
        if (a[i] == ITSELF)
            a[i] = getpid();
    }
    if (!raise_fence())
        return;
    errno = 0;
    record->answer =
        syscall(allowed[record->row].number, a[0], a[1], a[2], a[3], a[4], a[5]);
    record->error = errno;
}

START_TEST(what_stays_within_the_process_goes_on)
{
    static const enum adp_fence fences[] = { ADP_FENCE_LOOK, ADP_FENCE_CHECK };
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    make_record();
    for (int i = 0; i < 2; i++) {
        *record = (struct record) { .whose = fences[i], .row = _i };
        adp_child_run(&child, limit, make_allowed, NULL);
        ck_assert(child.finished);
        ck_assert_int_eq(record->refused, 0);
        if (!record->is_fenced)
            continue;
        if (allowed[_i].error != ANY_ERROR)
            ck_assert_int_eq(record->error, allowed[_i].error);
        if (allowed[_i].answer != -1)
            ck_assert_int_eq(record->answer, allowed[_i].answer);
    }
}
END_TEST

static void makes_a_file_in_memory(void *none)
{
    enum { ROOM = 65536 };
    (void)none;
    raise_fence();
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (ftruncate(fd, ROOM / 2) != 0 || fallocate(fd, 0, 0, ROOM) != 0)
        return;
    char *ring = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return;
    ring[ROOM - 1] = 1;
    record->kept = 1;
}

START_TEST(a_file_in_memory_is_given_its_size)
{
    static const enum adp_fence fences[] = { ADP_FENCE_LOOK, ADP_FENCE_CHECK };
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    make_record();
    record->whose = fences[_i];
    adp_child_run(&child, limit, makes_a_file_in_memory, NULL);
    ck_assert(child.finished);
    ck_assert_int_eq(record->refused, 0);
    ck_assert(record->kept);
}
END_TEST

static void forks(void *none)
{
    (void)none;
    raise_fence();
    pid_t pid = fork();
    if (pid == 0)
        adp_child_exit(7);
    int status = 0;
    record->kept = pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7;
}

START_TEST(who_is_to_fork_may)
{
    finishes_behind(ADP_FENCE_FORK, forks);
    ck_assert(record->kept);
}
END_TEST

/* --- what is feigned --- */

static void ask_for_limits(void *none)
{
    struct rlimit low = { 7, 7 }, now;
    struct sched_param p = { 0 };
    (void)none;
    if (!raise_fence())
        return;
    record->answer = setrlimit(RLIMIT_NOFILE, &low);
    record->answer |= close(STDIN_FILENO);
    record->answer |= alarm(3600);
    record->answer |= sched_setscheduler(getpid(), SCHED_BATCH, &p);
    getrlimit(RLIMIT_NOFILE, &now);
    record->kept = now.rlim_cur != 7 && fcntl(STDIN_FILENO, F_GETFD) >= 0 &&
                   alarm(0) == 0 && sched_getscheduler(0) == SCHED_OTHER;
}

START_TEST(limits_alarms_and_closing_are_answered_and_not_done)
{
    finishes_behind(ADP_FENCE_CHECK, ask_for_limits);
    if (!record->is_fenced)
        return;
    ck_assert_int_eq(record->answer, 0);
    ck_assert(record->kept);
}
END_TEST

/* --- ends --- */

static void aborts(void *none)
{
    (void)none;
    signal(SIGABRT, SIG_DFL);
    raise_fence();
    abort();
}

START_TEST(an_abort_is_still_one)
{
    static const enum adp_fence fences[] = { ADP_FENCE_LOOK, ADP_FENCE_CHECK };
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    make_record();
    record->whose = fences[_i];
    adp_child_run(&child, limit, aborts, NULL);
    ck_assert_int_eq(child.end, ADP_CHILD_KILLED);
    ck_assert_int_eq(child.number, SIGABRT);
}
END_TEST

static void asks_with_signals_blocked(void *none)
{
    sigset_t every;
    (void)none;
    sigfillset(&every);
    if (!raise_fence())
        return;
    sigprocmask(SIG_BLOCK, &every, NULL);
    syscall(SYS_kill, getppid(), 0);
}

START_TEST(a_call_that_nobody_can_be_told_of_ends_the_process_all_the_same)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    make_record();
    record->whose = ADP_FENCE_LOOK;
    adp_child_run(&child, limit, asks_with_signals_blocked, NULL);
    if (!record->is_fenced)
        return;
    ck_assert_int_eq(child.end, ADP_CHILD_KILLED);
    ck_assert_int_eq(child.number, SIGSYS);
}
END_TEST

static void inherits_blocked_signals(void *none)
{
    (void)none;
    if (raise_fence())
        syscall(SYS_kill, getppid(), 0);
}

START_TEST(signals_that_came_blocked_hinder_nobody)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    sigset_t every;
    make_record();
    record->whose = ADP_FENCE_LOOK;
    sigfillset(&every);
    sigprocmask(SIG_BLOCK, &every, NULL);
    adp_child_run(&child, limit, inherits_blocked_signals, NULL);
    sigprocmask(SIG_UNBLOCK, &every, NULL);
    if (record->is_fenced)
        ck_assert_int_eq(record->refused, SYS_kill);
}
END_TEST

static void writes_to_all(void *none)
{
    (void)none;
    raise_fence();
    for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
        if (write(fd, "x", 1) == 1)
            record->answer++;
}

START_TEST(nothing_that_was_left_open_is_written_to)
{
    struct adp_child child;
    struct adp_child_limit limit = { .ms = LIMIT_MS };
    int ends[2];
    make_record();
    record->whose = ADP_FENCE_LOOK;
    ck_assert_int_eq(pipe(ends), 0);
    adp_child_run(&child, limit, writes_to_all, NULL);
    close(ends[0]);
    close(ends[1]);
    ck_assert(child.finished);
    ck_assert_int_eq(record->answer, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fence");
    TCase *t = tcase_create("fence");
    tcase_add_loop_test(t, what_reaches_beyond_the_process_is_refused_by_its_number, 0,
                        sizeof forbidden / sizeof forbidden[0]);
    tcase_add_loop_test(t, what_stays_within_the_process_goes_on, 0,
                        sizeof allowed / sizeof allowed[0]);
    tcase_add_loop_test(t, a_file_in_memory_is_given_its_size, 0, 2);
    tcase_add_test(t, who_is_to_fork_may);
    tcase_add_test(t, limits_alarms_and_closing_are_answered_and_not_done);
    tcase_add_loop_test(t, an_abort_is_still_one, 0, 2);
    tcase_add_test(t, a_call_that_nobody_can_be_told_of_ends_the_process_all_the_same);
    tcase_add_test(t, signals_that_came_blocked_hinder_nobody);
    tcase_add_test(t, nothing_that_was_left_open_is_written_to);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
