/* SPDX-License-Identifier: MIT */
/* Less to do harm with (runtime/check/sandbox.h): resource limits and a seccomp filter.
 *
 * A fence against what a constructor does by mistake or out of habit, and against most of
 * what is meant; no prison: a list of what is forbidden is never complete. */
#include "runtime/check/sandbox.h"

#include "runtime/check/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#define LOAD(offset)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define FIELD(name)   LOAD(offsetof(struct seccomp_data, name))
#define ARGUMENT(i)   LOAD(offsetof(struct seccomp_data, args) + 8 * (i))
#define ANSWER(what)  BPF_STMT(BPF_RET | BPF_K, what)
#define ERROR(number) (SECCOMP_RET_ERRNO | (number))
/* The answer for one system call; any other goes on. */
#define IS(name, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ANSWER(what)
#define NO(name)       IS(name, ERROR(EPERM))
/* A file may be opened to be read; `i`: which argument has the flags. */
#define NO_WRITING(name, i)                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), ARGUMENT(i),                  \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,                                             \
                 O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0, 1),                \
        ANSWER(ERROR(EPERM)), ANSWER(SECCOMP_RET_ALLOW)

static const struct sock_filter fence[] = {
    FIELD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    FIELD(nr),
    /* network */
    NO(socket),
    NO(socketpair),
    NO(connect),
    NO(bind),
    NO(listen),
    IS(io_uring_setup, ERROR(ENOSYS)),
    /* processes and threads; without clone3 libc falls back to clone */
    NO(clone),
    IS(clone3, ERROR(ENOSYS)),
    NO(execve),
    NO(execveat),
    NO(kill),
    NO(ptrace),
    NO(process_vm_writev),
    NO(setpgid),
    NO(setsid),
    /* files */
    NO(unlinkat),
    NO(renameat2),
    NO(mkdirat),
    NO(mknodat),
    NO(linkat),
    NO(symlinkat),
    NO(truncate),
    NO(fchmodat),
    NO(fchownat),
    NO(utimensat),
    NO(mount),
    IS(openat2, ERROR(ENOSYS)),
    NO_WRITING(openat, 2),
#if defined __x86_64__
    NO(fork),
    NO(vfork),
    NO(unlink),
    NO(rmdir),
    NO(rename),
    NO(renameat),
    NO(mkdir),
    NO(mknod),
    NO(link),
    NO(symlink),
    NO(chmod),
    NO(chown),
    NO(lchown),
    NO(creat),
    NO_WRITING(open, 1),
#endif
    ANSWER(SECCOMP_RET_ALLOW),
};

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit r;
    if (getrlimit(what, &r) != 0)
        return;
    if (r.rlim_max != RLIM_INFINITY && r.rlim_max < most)
        most = r.rlim_max;
    r.rlim_cur = r.rlim_max = most;
    setrlimit(what, &r);
}

bool adp_sandbox_enter(void)
{
    struct sock_fprog program = { sizeof fence / sizeof fence[0],
                                  (struct sock_filter *)fence };
    limit(RLIMIT_CPU, 5);
    limit(RLIMIT_FSIZE, 64u << 20);
    if (!ADP_SANITIZED)
        limit(RLIMIT_DATA, 512u << 20);
    /* Without /proc the loader has to write its copy into a folder. */
    if (access("/proc/self/fd", X_OK) != 0)
        return false;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
