/* SPDX-License-Identifier: MIT */
/* A thread that may make no system call any more: the kernel ends the process (SIGSYS) at the
 * first. Included by one file of a program. Time comes from the test's own clock, so not even
 * reading it is allowed. */
#ifndef ADP_TESTS_CORE_NO_CALLS_H
#define ADP_TESTS_CORE_NO_CALLS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For this thread, for good. False: this system allows no filter. */
static inline bool no_calls_from_here(void)
{
    static const struct sock_filter none[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigsuspend, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = { sizeof none / sizeof none[0],
                                  (struct sock_filter *)none };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The one call that is allowed: to stand still for ever. Ending the thread takes several, and
 * sanitizers make more: also where a function is called that does not return, so the compiler
 * must not know that this one does not. */
static inline void no_calls_rest(void)
{
    static const unsigned long no_signals = 0;
    static volatile bool over = false;
    while (!over)
        syscall(SYS_rt_sigsuspend, &no_signals, sizeof no_signals);
}

#endif
