/* SPDX-License-Identifier: MIT */
/* The log: a file, a drain, and a thread that moves lines from one to the other.
 *
 *  1. Whole lines are appended (O_APPEND), many at a time; several processes may share a
 *     file.
 *  2. What could not be written (full disk, vanished folder) is kept and tried again;
 *     while it waits, the rings fill, the newest records are dropped, and the gap is counted.
 *  3. Every file starts with the snapshot in force.
 *  4. Closing writes everything, or says within its bound how much it could not.
 *
 * The thread polls; nobody wakes it per record. Flush, reopen and close do, through an
 * eventfd.
 *
 * Lock: `mutex` guards the drain, the file and the counts; held for one step. Whoever
 * decides never takes it. */
#ifndef ADP_CORE_LOG_H
#define ADP_CORE_LOG_H

#include "core/clock.h"
#include "core/drain.h"

struct adp_log;

struct adp_log_options {
    const char *path;              /* the file; its folders are made */
    uint64_t rotate_bytes;         /* 0: never */
    uint32_t keep;                 /* rotated files kept: NAME.1.jsonl is the newest */
    uint32_t poll_ms;              /* 0: 5 ms */
    const struct adp_clock *clock; /* wall time of losses at the end */
};

struct adp_log_count {
    uint64_t lines, bytes, dropped, write_errors;
};

/* Opens the file and takes the drain (also on failure). ADP_EIO names the path and the
 * reason. */
int adp_log_open_take(struct adp_log **ret, const struct adp_log_options *options,
                      struct adp_drain *drain, struct adp_error *err);
/* Starts the thread. Without it, whoever calls adp_log_flush does the work. ADP_EIO. */
int adp_log_start(struct adp_log *log, struct adp_error *err);
/* Drains and writes until the rings are empty, at most about two seconds of trying.
 * ADP_EIO. */
int adp_log_flush(struct adp_log *log, struct adp_error *err);
/* Closes the file and opens the path anew, at the next step. */
void adp_log_reopen(struct adp_log *log);
/* Whether a file could be opened there; makes it, with its folders. ADP_EIO. */
int adp_log_try(const char *path, struct adp_error *err);
/* Goes on in another file, or in the same with other bounds, at the next step; what is
 * drained by then and not written goes there too. `path` is one that adp_log_try took. */
void adp_log_move(struct adp_log *log, const char *path, uint64_t rotate_bytes,
                  uint32_t keep);
struct adp_log_count adp_log_counts(struct adp_log *log);
/* Ends the thread, writes all, frees. ADP_EIO: the error says how many bytes are lost.
 * NULL is fine. */
int adp_log_close(struct adp_log *log, struct adp_error *err);

#endif
