/* SPDX-License-Identifier: MIT */
/* A process for a piece of work that may end in any way: how long it may take, and how it
 * ended, in words.
 *
 * The process is a fork: the caller has loaded no policy and has one thread, so that each
 * starts from the same clean state. It gets its own session (a child's child stays in the
 * child's), no standard input, what it prints and what it says of errors kept aside in a file
 * each, no core dump, and dies with its parent. If it calls exit, handlers that were registered in it run, and none of its
 * parent's: nothing is flushed twice.
 *
 * The limit is of time that the process computes, and as much again that it waits (sleeps, or
 * for a lock, a file, a disk, a thread, a process). While it is ready and gets no processor,
 * because the machine is busy, no time passes; nor while a debugger holds it, or while it waits
 * for a child of its own in adp_child_run, which has a limit itself. After ADP_CHILD_PATIENCE
 * times the limit, by any clock, it is over. */
#ifndef ADP_RUNTIME_CHECK_CHILD_H
#define ADP_RUNTIME_CHECK_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adp_child_end {
    ADP_CHILD_RETURNED, /* `work` came back, or the process ended itself with 0 */
    ADP_CHILD_EXITED,   /* with another status */
    ADP_CHILD_KILLED,   /* by a signal */
    ADP_CHILD_HUNG,     /* over the limit, or we are to stop: killed by us */
    ADP_CHILD_NONE      /* no process could be made */
};

/* What it was about when it was over the limit. */
enum adp_child_hung {
    ADP_HUNG_NOT,
    ADP_HUNG_COMPUTING,
    ADP_HUNG_WAITING,
    ADP_HUNG_STARVING, /* neither so long: it got next to no processor */
    ADP_HUNG_STOPPED   /* it was not over it: we are to stop */
};

/* A process that is starved is given up after so many times its limit. */
enum { ADP_CHILD_PATIENCE = 20 };

struct adp_child {
    enum adp_child_end end;
    enum adp_child_hung hung;
    int number;          /* exit status, signal, or errno */
    bool finished;       /* `work` came back */
    uint32_t computed_s; /* how much time it had on processors, once it has ended */
    /* The last line it wrote to its standard error, or else printed; or "". */
    char said[200];
};

struct adp_child_limit {
    uint32_t ms;                       /* of computing, and of waiting */
    const volatile sig_atomic_t *stop; /* not 0: no more waiting; or NULL */
    /* This process is a child itself, and may send no signals (fence.h): the new one stays in
     * its session and group, and if it hangs it is left to whoever waits for us. */
    bool nested;
};

/* Runs work(ctx) in a child and waits for its end, within limits. What it left running in
 * its process group is killed. [control] */
void adp_child_run(struct adp_child *ret, struct adp_child_limit limit,
                   void (*work)(void *ctx), void *ctx);

/* Ends this process at once, past whatever a sanitizer does in _exit: it may not be able
 * to any more. Safe in a signal's handler. */
_Noreturn void adp_child_exit(int status);

/* Whether it did not finish for want of a process or a processor, or of time on one by a limit
 * that this process has too: that is the machine's doing and nobody's fault. */
bool adp_child_hindered(const struct adp_child *child);

/* "the process was killed by SIGSEGV", "it did not come back within 10 s of computing", … */
void adp_child_words(const struct adp_child *child, uint32_t limit_ms, char *to,
                     size_t cap);

#endif
