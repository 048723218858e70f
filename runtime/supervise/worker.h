/* SPDX-License-Identifier: MIT */
/* The worker's side of the supervisor (supervise.h): what a program calls that was started
 * by one.
 *
 *   attach ─► region, orders, saved state ─► instances ─► adopt connections ─► ready
 *   while serving: stand and owe for each connection; save each second; beat; listen to the
 *   control descriptor
 *
 *  1. What is said of a connection is true at each moment: stand is called before a request
 *     is delivered and around each write. What was taken out of a socket and is no whole
 *     request is kept (adp_worker_hold), or told of as partly read: else it is lost, and its
 *     client waits. Where other threads may die at any time, also around each read. So with one thread that reads, decides and writes, no connection is in
 *     between when a policy dies in it; of several, those that are within a read or a write
 *     just then are closed.
 *  2. Nothing here waits for the supervisor. What it cannot take at once (its queue is full)
 *     is offered again at the next call for that connection.
 *  3. A place (slot) belongs to one thread at a time; places are the caller's to number.
 *  4. Saved state is whole or not there: two buffers, the newer one whose checksum holds.
 *
 * Recovering tickets and the snapshot is core/recover.h's, for the caller to do once it has a
 * generation, before that is in force. */
#ifndef ADP_SUPERVISE_WORKER_H
#define ADP_SUPERVISE_WORKER_H

#include "core/beyond.h"
#include "core/region.h"
#include "runtime/supervise/supervise.h"

struct adp_worker;

/* Whether this process was started by a supervisor. [any] */
bool adp_worker_is_supervised(void);
/* Finds the supervisor by the environment, maps the region, and ties this process's life to it.
 * To be called before threads are started. ADP_ESTATE: nobody supervises us; ADP_EIO, ADP_ENOMEM.
 * [control] */
int adp_worker_attach(struct adp_worker **ret, struct adp_error *err);
/* NULL is fine. Connections stay with the supervisor. [control] */
void adp_worker_destroy(struct adp_worker *worker);

/* Borrowed. Lanes 1 … are ours, and the control lane. */
struct adp_region *adp_worker_region(const struct adp_worker *worker);
/* Whether anybody drains it. */
bool adp_worker_records(const struct adp_worker *worker);
/* Listening sockets, close-on-exec and not blocking; the caller's from now on. */
uint32_t adp_worker_listeners(const struct adp_worker *worker);
int adp_worker_listener(const struct adp_worker *worker, uint32_t i);
/* Workers before this one. */
uint64_t adp_worker_restarts(const struct adp_worker *worker);
/* The supervisor's counts. [any] */
struct adp_supervised adp_worker_counts(const struct adp_worker *worker);

/* All that follows of policies and the log, as a host asks for it. Borrowed by it for the life of
 * the worker. [control] */
void adp_worker_beyond(struct adp_worker *worker, struct adp_beyond *ret);

/* --- policies, and whatever else is to survive (the configuration in force) */

enum adp_order {
    ADP_ORDER_RESTORE,   /* from saved state, if there is some */
    ADP_ORDER_AFRESH,    /* there is none */
    ADP_ORDER_QUARANTINE /* not to be created, nor called */
};
/* What to do with the policy of this name. [control] */
enum adp_order adp_worker_order(const struct adp_worker *worker, const char *name);
/* Says whose name the policies of a generation have, in their order: before it is in force.
 * [control] */
void adp_worker_policies(struct adp_worker *worker, uint32_t generation,
                         const char *const *names, uint32_t n);
/* Around calls of a policy that no lane is in: create, save, destroy. NULL: over. [control] */
void adp_worker_within(struct adp_worker *worker, const char *name, uint64_t now_ns);
/* A reload begins. It has ended: made, nobody is in quarantine or suspected any more; or
 * refused. [control] */
void adp_worker_reloading(struct adp_worker *worker);
void adp_worker_reloaded(struct adp_worker *worker);
void adp_worker_unreloaded(struct adp_worker *worker);

/* A policy that workers died of. */
struct adp_suspected {
    const char *name; /* borrowed for the life of the worker */
    uint64_t deaths;
    bool quarantined;
};
/* Those known when this worker was started; false: no i-th. [any] */
bool adp_worker_suspected(const struct adp_worker *worker, uint32_t i,
                          struct adp_suspected *ret);

/* Has the supervisor write the log elsewhere, all that was recorded before where it was; or
 * only try whether it could. Of the options path, rotation and keep are taken. ADP_EIO: it could
 * not, nothing has changed; or it did not answer in 5 s. [control] */
int adp_worker_log(struct adp_worker *worker, const struct adp_log_options *log,
                   bool only_try, struct adp_error *err);

/* What was saved last under a name, borrowed until the next save; NULL: nothing. [control] */
const void *adp_worker_saved(const struct adp_worker *worker, const char *name,
                             size_t *ret_len, uint64_t *ret_saved_ns);
/* A place for at most `cap` bytes to be saved under a name (at most 63 bytes), NULL: there is
 * none; then what was written there counts, if `len` is not 0. [control] */
void *adp_worker_save_begin(struct adp_worker *worker, const char *name, size_t cap);
void adp_worker_save_end(struct adp_worker *worker, size_t len, uint64_t now_ns);

/* --- connections */

#define ADP_OWED_MAX   64u
#define ADP_UNREAD_MAX 65536u /* bytes that are kept of a connection */

/* What is owed to a client: an answer to a whole request. The kind is the caller's, 0: not said
 * (it died before it could); so is the note: what was decided, say. */
struct adp_owed {
    uint64_t note[3];
    uint32_t kind, reserved;
};
/* Where a connection stands. */
struct adp_standing {
    int fd; /* -1: closed */
    uint32_t
        owed; /* whole requests, oldest first, of whose answers no byte was written */
    uint64_t note; /* the caller's, about all of them */
    /* Bytes that were read and are no whole request yet: the last so many of those given to
     * adp_worker_hold. Not all of them there: partly_read. */
    uint32_t unread;
    bool last; /* no more requests are read after these */
    bool partly_read, partly_written;
};
/* A connection of the worker before. */
struct adp_held {
    struct adp_standing standing; /* the descriptor is the caller's, close-on-exec */
    struct adp_owed owed[ADP_OWED_MAX];
    const void *unread; /* standing.unread bytes, borrowed until adp_worker_ready */
};

/* Connections that wait to be adopted: those before ready are taken, all others are closed
 * then. False: no such one, or adopted already. [control] */
uint32_t adp_worker_inherited(const struct adp_worker *worker);
bool adp_worker_adopt(struct adp_worker *worker, uint32_t i, struct adp_held *ret);
/* Where the connection at a place stands now. The first call hands a duplicate to the
 * supervisor; of an adopted one (known by its descriptor), what is owed goes with it. Its last
 * one, with fd -1, comes before the descriptor is closed. When `owed` has grown, the newest are
 * of kind 0; when it has shrunk, the oldest were answered. [hot], the place's thread */
void adp_worker_stand(struct adp_worker *worker, uint32_t slot,
                      const struct adp_standing *now);
/* Keeps bytes that were read from the connection at a place, in place of what is kept of it, or
 * behind that (`more`); they count as stand says. False: that would be more than ADP_UNREAD_MAX,
 * and nothing is kept of it. While others may die, the place stands as partly read. [hot] */
bool adp_worker_hold(struct adp_worker *worker, uint32_t slot, const void *bytes,
                     size_t len, bool more);
/* Says of which kind the newest answer is that is owed, again when more is known. [hot] */
void adp_worker_owe(struct adp_worker *worker, uint32_t slot, uint32_t kind,
                    const uint64_t note[3]);

/* --- life */

#define ADP_WORKER_THREADS 64u

/* All inherited is adopted, requests are served. [control] */
void adp_worker_ready(struct adp_worker *worker);
/* A thread's sign of life: once it gave one it must go on, every stall_ms / 2 say; `now_ns` 0: it
 * has ended. [hot] */
void adp_worker_beat(struct adp_worker *worker, uint32_t thread, uint64_t now_ns);

enum adp_tell {
    ADP_TELL_NOTHING,
    ADP_TELL_DRAIN,  /* answer what has begun, within_ms at most, then exit with 0 */
    ADP_TELL_RELOAD, /* SIGHUP */
    /* It has grown too large: finish what is partly read or written, within_ms at most, and exit
     * with connections as they stand: the next worker goes on with them. */
    ADP_TELL_STEP_DOWN,
    ADP_TELL_GONE /* the supervisor has died: exit */
};
/* To be watched for reading, and then read until there is nothing more. [control] */
int adp_worker_fd(const struct adp_worker *worker);
enum adp_tell adp_worker_told(struct adp_worker *worker, uint32_t *ret_within_ms);

#endif
