/* SPDX-License-Identifier: MIT */
/* The log: a file, a drain, and a thread that moves lines from one to the other.
 *
 *  1. Whole lines are appended, many at a time (core/logfile.h: several processes on a
 *     file, rotation).
 *  2. What could not be written (full disk, vanished folder) is kept and tried again;
 *     while it waits, the rings fill, the newest records are dropped, and the gap is counted.
 *     What is kept is one batch: 256 KiB of lines, one line, and the opening of a file.
 *  3. Every file starts with the snapshot in force.
 *  4. Closing writes everything, or says how much it could not: two seconds after the last
 *     batch that was written, also when a write never returns.
 *  5. Whoever decides never waits for the log, and makes no system call for it: nothing of
 *     this is called from there.
 *  6. No signal disposition is changed, and none of the host's signals arrives in the
 *     thread. It has all blocked but those that a fault of its own raises, so a write
 *     beyond RLIMIT_FSIZE is EFBIG and no SIGXFSZ, one to a FIFO without reader EPIPE and
 *     no SIGPIPE. Without the thread these two are held back for the time of a write.
 *     SIGTERM, SIGINT, SIGQUIT and SIGHUP are no exception, though a process whose own
 *     threads have all ended, by pthread_exit in main, is deaf to them then: the mask that
 *     the starter had does not say what it will have. A host that blocks them later, for
 *     sigwait, pselect, a signalfd or while it changes what its handler reads, has every
 *     thread of its own blocked; the kernel would give the signal to ours, where its
 *     handler runs beside what it was held back for, or the process dies of it.
 *
 * The thread polls; nobody wakes it per record. It sleeps poll_ms (5 ms) when rings are
 * empty, which costs 200 wake-ups a second, about 0.3 % of a core; as they fill it comes
 * so often that it finds them an eighth full, and does not sleep while one is a quarter
 * full. Flush, reopen, move and close wake it, through an eventfd. A process that ends
 * without closing, or is killed, loses what was recorded since the thread last came: at
 * most poll_ms and the time of one batch while the disk keeps up.
 *
 * Lock: `mutex` guards what is asked for and the counts; never held over a system call on
 * the file. Whoever decides never takes it. */
#ifndef ADP_CORE_LOG_H
#define ADP_CORE_LOG_H

#include "core/clock.h"
#include "core/drain.h"

struct adp_log;

struct adp_log_options {
    const char *path;      /* the file; its folders are made */
    uint64_t rotate_bytes; /* 0: never */
    uint32_t keep;         /* rotated files: the newest of them */
    uint32_t poll_ms;      /* 0: 5 ms */
    /* Wall time: losses at the end, rotated files. `meter`, which is real: how long it waits. */
    const struct adp_clock *clock;
};

struct adp_log_count {
    /* in files, openings not among the lines; as they are written */
    uint64_t lines, bytes;
    uint64_t dropped;      /* records accounted for in lines, written or not */
    uint64_t write_errors; /* writes, openings and rotations that failed */
    uint64_t pending;      /* bytes of lines that wait to be written */
    uint64_t memory;       /* bytes allocated for them */
    uint64_t damaged;      /* rings abandoned */
};

/* Opens the file and takes the drain (also on failure). ADP_EIO names the path and the
 * reason: a directory, a FIFO nobody reads. [control] */
int adp_log_open_take(struct adp_log **ret, const struct adp_log_options *options,
                      struct adp_drain *drain, struct adp_error *err);
/* Starts the thread. Without it, whoever calls adp_log_flush does the work, and a write
 * that never returns is theirs to wait for. ADP_EIO. [control] */
int adp_log_start(struct adp_log *log, struct adp_error *err);
/* Waits until all that was recorded before the call is in the file. ADP_EIO: for two seconds
 * nothing could be written; it is tried further. [control] */
int adp_log_flush(struct adp_log *log, struct adp_error *err);
/* The writers are gone: drains what they recorded, and then has rings that were abandoned begin
 * anew (core/drain.h). False: not within `patience_ns`, and it will not happen later either.
 * [control] */
bool adp_log_renew(struct adp_log *log, uint64_t patience_ns);
/* Closes the file and opens the path anew, at the next write. [any] */
void adp_log_reopen(struct adp_log *log);
/* Writes all that was recorded to the file it has, and goes on in another one, opened
 * first: ADP_EIO, nothing has changed. Of the options path, rotation and keep are
 * taken. [control] */
int adp_log_move(struct adp_log *log, const struct adp_log_options *options,
                 struct adp_error *err);
/* Whether adp_log_move could open it. [control] */
int adp_log_try(const struct adp_log_options *options, struct adp_error *err);
struct adp_log_count adp_log_counts(struct adp_log *log); /* [any] */
/* Ends the thread, writes all, frees. ADP_EIO after two seconds in which nothing could be
 * written: the error says how many lines and records are lost. NULL is fine. [control]
 * Not for a child of fork that inherited the log: its thread is the parent's, and what it
 * was about to do then can neither be finished nor freed. */
int adp_log_close(struct adp_log *log, struct adp_error *err);

#endif
