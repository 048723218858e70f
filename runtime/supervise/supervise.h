/* SPDX-License-Identifier: MIT */
/* The supervisor: what outlives a worker that a policy takes down.
 *
 *   supervisor (this room, core)            worker (exec'd; worker.h)
 *   ├ listeners ──────── inherited ───────► accepts, reads, decides, answers
 *   ├ region (sealed memfd) ── mapped ────► lanes, call slots, tickets, saved state
 *   ├ log: drains the region
 *   └ a duplicate of each connection ◄───── handed over when accepted
 *
 *              exec              ready               dies, hangs, grows, SIGTERM
 *      NONE ─────────► STARTING ───────► SERVING ───────────────────────────────► NONE
 *        ▲ back-off        │ dies                                                   │
 *        └─────────────────┴──────── what it held goes to the next one ─────────────┘
 *
 *  1. The listeners stay open: while there is no worker, clients wait in their backlog.
 *  2. A worker that ends in any way is followed by another, which inherits each connection
 *     of whose answers none was partly written, told how many answers of which kind it owes,
 *     and what was read of requests that are not whole, where the worker kept that. One inside
 *     a partly written answer, or a partly read request that is not kept whole, is closed and
 *     counted: nobody can go on with it. One that grew too large ends between them.
 *  3. The request that a policy died in has a record with the fault (core/recover.h), in
 *     the same log, after all that its lane had recorded before.
 *  4. A policy that a worker died of is started from its saved state the first time within
 *     the window, afresh the second, and is in quarantine from the third, until a reload.
 *     Where several were asked at that moment, or none, all of these, or all, are
 *     suspected. A signal from outside (SIGKILL, SIGTERM, …) is nobody's fault.
 *  5. A worker that cannot start is tried again at growing distances, 5 s at most.
 *  6. What the worker writes (region, messages) is bounded before use: it can lose its own
 *     records and connections, and have itself restarted, no more.
 *  7. Told to end, the supervisor lets the worker drain for a stated time, ends it, and then
 *     writes all that was recorded. When the supervisor dies the worker does too.
 *
 * Left to others: opening listeners and taking their paths away; what a request or answer is;
 * saying what happened (the `told` function is called with it); configuration.
 *
 * Needs signals: adp_supervisor_run blocks SIGCHLD, SIGHUP, and SIGTERM and SIGINT unless they
 * are ignored, in its thread and reads them; threads that the caller started before must have them blocked. */
#ifndef ADP_SUPERVISE_H
#define ADP_SUPERVISE_H

#include "core/log.h"
#include "core/region.h"

struct adp_supervisor;

/* How a worker ended. */
enum adp_cause {
    ADP_CAUSE_SIGNAL = 1, /* raised in it, or sent from outside */
    ADP_CAUSE_EXIT,
    ADP_CAUSE_HANG,  /* a call of a policy took longer than hang_ms: killed */
    ADP_CAUSE_STALL, /* one of its threads gave no beat for stall_ms: killed */
    ADP_CAUSE_MEMORY, /* grew beyond memory_bytes: told to step down, and killed 500 ms later,
                         or sooner at twice that and 256 MiB */
    ADP_CAUSE_COUNT
};

enum adp_happening {
    ADP_WORKER_STARTED = 1, /* exec'd: pid */
    ADP_WORKER_READY, /* pid; ms since the one before died, or since it was started */
    ADP_WORKER_DIED,  /* pid, cause, detail, policy, id; ms that it lived */
    ADP_POLICY_QUARANTINED, /* policy */
    ADP_RESTART_DELAYED,    /* ms */
    ADP_DRAINING,           /* ms at most; listeners are closed next */
    ADP_RELOADING,          /* the worker reads its configuration anew */
    ADP_RELOADED,           /* it has, and made it or refused it */
    ADP_LOG_FAILED          /* at the end: text; the last */
};

struct adp_news {
    enum adp_happening what;
    int pid;
    enum adp_cause cause;
    int detail;         /* the signal it ended by, or its exit status (0: stepped down) */
    const char *policy; /* suspected, the first if several; "" none */
    const char *id;     /* of the request it was in; "": none, or not known */
    const char *text;
    uint64_t ms;
};

/* The worker may read these too (adp_worker_counts). */
struct adp_supervised {
    uint64_t restarts;                    /* workers started after the first */
    uint64_t deaths[ADP_CAUSE_COUNT];     /* by cause; while draining too */
    uint64_t rings_damaged;               /* by workers: what they held is lost */
    uint64_t fault_records;               /* made for requests that a worker died in */
    uint64_t inherited;                   /* connections handed to the next worker */
    uint64_t partly_read, partly_written; /* closed at a death */
    uint64_t unheld;      /* connections given up: no room, no descriptor */
    uint64_t quarantined; /* policies, now */
    uint64_t restart_ns, restart_worst_ns; /* from death to ready: the last; the worst */
    uint64_t log_lines, log_bytes, log_dropped, log_write_errors, log_pending;
};

/* 0 in any number: the default. All is copied but what `log` points to and `ctx`. */
struct adp_supervisor_options {
    const char *const *argv; /* of the worker; NULL-terminated */
    const char *program;     /* its path; NULL: argv[0] */
    const int *listeners;    /* borrowed; not closed here but when draining begins */
    uint32_t n_listeners;    /* ADP_SUPERVISE_LISTENERS at most */
    struct adp_shape shape;  /* of the region; lanes 0: 16, 1 MiB each */
    uint64_t instance;       /* names the writer in the log; 0: made up */
    uint32_t connections;    /* that can be kept; 1040, at most 65536 */
    uint32_t state_bytes;    /* of each saved state; 1 MiB, at most */
    const struct adp_log_options *log; /* NULL: none; `path` and `clock` borrowed */
    bool log_inline;
    uint32_t hang_ms;       /* 500 */
    uint32_t stall_ms;      /* 10000 */
    uint32_t start_ms;      /* for a worker to be ready; 30000 */
    uint32_t drain_ms;      /* 10000 */
    uint32_t window_ms;     /* in which deaths count together; 60000 */
    uint64_t memory_bytes;  /* of the worker's own, resident; 0: no limit */
    uint64_t address_bytes; /* RLIMIT_AS of the worker, region and code too; 0: none */
    bool core_dumps; /* let the worker leave some: takes longer than a restart may */
    void (*told)(void *ctx, const struct adp_news *news); /* may be NULL */
    /* May be NULL. Each tenth of a second or more often, for as long as it runs. */
    void (*tick)(void *ctx, uint64_t now_ns);
    void *ctx;
};
#define ADP_SUPERVISE_LISTENERS 48u

/* Makes the region and opens the log. ADP_EINVAL, ADP_ENOMEM, ADP_EIO. [control] */
int adp_supervisor_create(struct adp_supervisor **ret,
                          const struct adp_supervisor_options *options,
                          struct adp_error *err);
/* Starts a worker and sees to it, until SIGTERM or SIGINT (unless ignored), or
 * adp_supervisor_stop, and all is drained. SIGHUP reopens the log and tells the worker to
 * reload, or the next one if none was there to hear it. A second SIGTERM ends the worker at
 * once. 0; ADP_EIO: the log could not be written whole, or no worker could ever be started
 * (argv[0] cannot be executed). [control], once */
int adp_supervisor_run(struct adp_supervisor *supervisor, struct adp_error *err);
/* As SIGTERM does. [any], also from a signal handler */
void adp_supervisor_stop(struct adp_supervisor *supervisor);
/* [control], or from `told` */
struct adp_supervised adp_supervisor_counts(const struct adp_supervisor *supervisor);
/* Not while it runs. NULL is fine. [control] */
void adp_supervisor_destroy(struct adp_supervisor *supervisor);

/* "died of a signal", …. Static. */
const char *adp_cause_text(enum adp_cause cause);

#endif
