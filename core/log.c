/* SPDX-License-Identifier: MIT */
/* The log (core/log.h): who does the writing, when, and how long others wait for it. */
#include "core/log.h"

#include "core/descriptor.h"
#include "core/logfile.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 256 * 1024, /* bytes of lines per write */
    POLL_MS = 5,
    BUSY_PERCENT = 25, /* of a ring: no sleep */
    AIM_PERCENT = 12   /* what the thread would like to find */
};

static const uint64_t MS = 1000000u;
static const uint64_t SHORTEST_NS = 100000u; /* sleep; a timer is late by half of that */
static const uint64_t TRY_NS = 10000000u;    /* after a failed write */
static const uint64_t LOCK_NS = 50000u;      /* first wait for another process's lock */
static const uint64_t LOCK_MOST_NS = 2000000u;
static const uint64_t PATIENCE_NS = 1900000000u; /* flush, and close before it gives up */
static const uint64_t LAST_NS = 100000000u; /* close after that: two seconds in all */

struct adp_log {
    /* The writer's alone: the thread's from adp_log_start on, until then the caller's. */
    struct adp_drain *drain;
    struct adp_line lines; /* drained, not written yet */
    size_t written;        /* bytes of `lines` that are in the file */
    struct adp_logfile file;
    uint64_t poll_ns, sleep_ns;
    uint64_t flushing; /* the flush whose records are marked in the drain */
    bool ending;       /* the losses at the end are drained too */
    const struct adp_clock *clock;

    pthread_mutex_t mutex; /* guards what follows, up to `count` */
    bool reopen, stop, give_up;
    struct adp_logfile *move;         /* owned: where to go on; NULL: here */
    uint64_t flush_asked, flush_done; /* numbers of flushes */
    bool renew;                       /* damaged rings, once all is drained */
    bool writing;                     /* the writer is in a system call on the file */
    bool ended;                       /* the thread has let go of everything */
    bool orphan;                      /* the thread frees it all, nobody waits any more */
    uint64_t steps;                   /* that succeeded */
    int failure;                      /* of the last step; 0: it succeeded */
    bool shut_out;                    /* which was that another process has the lock */
    bool pipe;                        /* or a device: no regular file */
    struct adp_log_count count;

    char path[ADP_LOGFILE_PATH]; /* for messages: of who calls, not the writer's */
    bool threaded;
    int wake, done; /* eventfds: for the thread, and for who waits for it */
    pthread_t thread;
};

/* --- signals --- */

/* All but those that a fault of the thread itself raises: these the host wants to see. */
static void most_signals(sigset_t *set)
{
    static const int faults[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                  SIGTRAP, SIGABRT, SIGSYS };
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(set, faults[i]);
}

/* In the caller's own thread: what a write may raise is held back, and taken away unless it
 * was waiting before. */
struct quiet {
    sigset_t held, before, mask;
};

static void quiet_begin(struct quiet *q)
{
    sigemptyset(&q->held);
    sigaddset(&q->held, SIGXFSZ);
    sigaddset(&q->held, SIGPIPE);
    sigemptyset(&q->before);
    sigpending(&q->before);
    pthread_sigmask(SIG_BLOCK, &q->held, &q->mask);
}

static void quiet_end(struct quiet *q)
{
    static const int raised[] = { SIGXFSZ, SIGPIPE };
    static const struct timespec now = { 0, 0 };
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, raised[i]);
        if (!sigismember(&q->before, raised[i]))
            sigtimedwait(&one, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
}

/* --- waiting --- */

static void signal_fd(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);
    (void)n; /* full: it is signalled already */
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec) { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

static bool take_signal(int fd)
{
    uint64_t n;
    return read(fd, &n, sizeof n) == sizeof n;
}

/* Where a filter refuses ppoll. True: it is signalled. */
static bool look(int fd)
{
    static const struct timespec nap = { 0, 1000000 };
    nanosleep(&nap, NULL); /* or not as long: how late it is the clock says */
    return take_signal(fd);
}

/* Until the eventfd is signalled, `ns` at most; returns how long that was. By the clock: what
 * the kernel says is left of a wait that a signal interrupts (glibc sends each thread one for
 * setuid and its like, whatever is blocked) knows nothing of the time that its handler took.
 * A wait that ends late, since the process was stopped, counts as what was asked: whoever is
 * waited for was stopped too. */
static uint64_t wait_fd(const struct adp_log *log, int fd, uint64_t ns)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    sigset_t most;
    uint64_t from = log->clock->meter_ns(log->clock->ctx), passed = 0;
    bool signalled = false;
    most_signals(&most);
    while (!signalled && passed < ns) {
        struct timespec left = timespec_of(ns - passed);
        int n = ppoll(&one, 1, &left, &most);
        if (n == 0)
            return ns;
        if (n > 0)
            take_signal(fd);
        signalled = n > 0 || (errno != EINTR && look(fd));
        passed = log->clock->meter_ns(log->clock->ctx) - from;
    }
    return passed < ns ? passed : ns;
}

/* --- one step: the writer's --- */

/* False: it is to give up, and must not begin to write again. */
static bool begin_writing(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool go = !log->give_up;
    log->writing = go;
    log->count.pending = log->lines.len - log->written;
    log->count.memory = log->lines.cap;
    pthread_mutex_unlock(&log->mutex);
    return go;
}

/* False: nobody waits any more; what the region and the clock were may be gone. */
static bool end_writing(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool go = !log->orphan;
    log->writing = false;
    log->count.bytes = log->file.bytes;
    log->count.pending = log->lines.len - log->written;
    log->count.memory = log->lines.cap;
    log->count.lines = log->file.lines;
    pthread_mutex_unlock(&log->mutex);
    return go;
}

/* Writes what is drained. 0; -errno with the rest kept; -ECANCELED: it is to end. */
static int write_lines(struct adp_log *log)
{
    struct quiet quiet;
    uint64_t wall_ns = 0;
    if (log->written == log->lines.len)
        return 0;
    if (log->file.rotate_bytes) /* now: the clock may be gone when a write returns */
        wall_ns = log->clock->wall_ns(log->clock->ctx);
    if (!begin_writing(log))
        return -ECANCELED;
    if (!log->threaded)
        quiet_begin(&quiet);
    int code = adp_logfile_write(&log->file, &log->lines, &log->written,
                                 adp_drain_opening(log->drain), wall_ns);
    if (!log->threaded)
        quiet_end(&quiet);
    if (!end_writing(log))
        return -ECANCELED;
    if (code < 0)
        return code;
    adp_line_clear(&log->lines);
    log->written = 0;
    return 0;
}

static int drain_lines(struct adp_log *log, bool *ret_more)
{
    *ret_more = adp_drain_run(log->drain, &log->lines, BATCH);
    log->file.front =
        adp_drain_opened(log->drain) ? adp_drain_opening(log->drain)->len : 0;
    log->file.repeated = false;
    if (!log->lines.broken)
        return 0;
    log->lines.broken = false;
    return -ENOMEM;
}

/* One batch: what waits, then what there is. *ret_more: the rings were not emptied. */
static int step(struct adp_log *log, bool *ret_more)
{
    *ret_more = true;
    int code = write_lines(log);
    if (code < 0)
        return code;
    int drained = drain_lines(log, ret_more);
    code = write_lines(log);
    return code < 0 ? code : drained;
}

static bool is_waiting_for_lock(const struct adp_log *log, int code)
{
    return code == -EWOULDBLOCK && log->file.misses > 0;
}

static void note_step(struct adp_log *log, int code)
{
    struct adp_drained drained = adp_drain_count(log->drain);
    pthread_mutex_lock(&log->mutex);
    log->count.dropped = drained.dropped;
    log->count.damaged = drained.damaged;
    log->count.write_errors += log->file.troubles;
    if (code < 0 && !is_waiting_for_lock(log, code))
        log->count.write_errors++;
    log->steps += code == 0;
    log->failure = code;
    log->shut_out = is_waiting_for_lock(log, code);
    log->pipe = !log->file.regular;
    pthread_mutex_unlock(&log->mutex);
    log->file.troubles = 0;
}

/* The losses at the end, once; false: they do not fit into memory yet. */
static bool drain_end(struct adp_log *log)
{
    if (!log->ending)
        adp_drain_end(log->drain, &log->lines, log->clock->wall_ns(log->clock->ctx));
    log->ending = !log->lines.broken;
    log->lines.broken = false;
    return log->ending;
}

/* How long to sleep after a step that found the fullest ring `fill` percent full. */
static uint64_t rest(struct adp_log *log, int code, bool more, unsigned fill)
{
    uint64_t ns = log->poll_ns;
    if (is_waiting_for_lock(log, code)) {
        ns = LOCK_NS << (log->file.misses < 6 ? log->file.misses : 6);
        return ns < LOCK_MOST_NS ? ns : LOCK_MOST_NS;
    }
    if (code < 0)
        return TRY_NS;
    if (fill)
        ns = log->sleep_ns * AIM_PERCENT / fill;
    if (ns < SHORTEST_NS)
        ns = SHORTEST_NS;
    log->sleep_ns = ns < log->poll_ns ? ns : log->poll_ns;
    return more || fill >= BUSY_PERCENT ? 0 : log->sleep_ns;
}

/* --- the thread --- */

struct asked {
    bool stop, give_up;
    uint64_t flush;
};

static void go_on_in(struct adp_log *log, struct adp_logfile *next)
{
    adp_logfile_move(&log->file, next->path, next->rotate_bytes, next->keep, NULL);
    free(next);
}

static struct asked take_asked(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    struct asked asked = { log->stop, log->give_up, log->flush_asked };
    struct adp_logfile *next = log->move;
    log->move = NULL;
    log->file.reopen |= log->reopen;
    log->reopen = false;
    pthread_mutex_unlock(&log->mutex);
    if (next)
        go_on_in(log, next);
    if (asked.flush != log->flushing) {
        adp_drain_mark(log->drain);
        log->flushing = asked.flush;
    }
    return asked;
}

/* Under the mutex: whoever gives up waiting for it goes on to write into those rings. */
static void renew(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool news = log->renew;
    if (news)
        adp_drain_renew(log->drain);
    log->renew = false;
    pthread_mutex_unlock(&log->mutex);
    if (news)
        signal_fd(log->done);
}

static void note_flushed(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool news = log->flush_done != log->flushing;
    log->flush_done = log->flushing;
    pthread_mutex_unlock(&log->mutex);
    if (news)
        signal_fd(log->done);
}

static void destroy(struct adp_log *log)
{
    adp_logfile_close(&log->file);
    if (log->wake >= 0)
        close(log->wake);
    if (log->done >= 0)
        close(log->done);
    free(log->move);
    adp_line_finish(&log->lines);
    adp_drain_destroy(log->drain);
    pthread_mutex_destroy(&log->mutex);
    free(log);
}

static void let_go(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool orphan = log->orphan;
    log->ended = true;
    pthread_mutex_unlock(&log->mutex);
    if (orphan)
        destroy(log);
    else
        signal_fd(log->done);
}

static void *run(void *arg)
{
    struct adp_log *log = arg;
    for (;;) {
        struct asked asked = take_asked(log);
        if (asked.give_up)
            break;
        unsigned fill = adp_drain_fill(log->drain);
        bool more;
        int code = step(log, &more);
        if (code == -ECANCELED)
            break;
        note_step(log, code);
        if (code == 0 && adp_drain_reached(log->drain))
            note_flushed(log);
        if (code == 0 && !more)
            renew(log);
        if (code == 0 && asked.stop && !more) {
            if (log->ending)
                break;
            if (drain_end(log))
                continue;
        }
        uint64_t ns = rest(log, code, more, fill);
        if (ns)
            wait_fd(log, log->wake, ns);
    }
    let_go(log);
    return NULL;
}

/* --- what others call --- */

static int open_file(struct adp_logfile *file, const struct adp_log_options *options,
                     struct adp_error *err)
{
    int code =
        adp_logfile_init(file, options->path, options->rotate_bytes, options->keep, err);
    int opened = code < 0 ? 0 : adp_logfile_open(file);
    if (opened < 0)
        code = adp_error_set(err, ADP_EIO, "cannot open the log %s: %s", file->path,
                             adp_logfile_reason(file, opened));
    return code;
}

static int open_events(struct adp_log *log, struct adp_error *err)
{
    log->wake = adp_descriptor_keep_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    log->done = adp_descriptor_keep_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (log->wake >= 0 && log->done >= 0)
        return 0;
    return adp_error_set(err, ADP_EIO, "cannot open the log %s: %s", log->file.path,
                         strerror(errno));
}

int adp_log_open_take(struct adp_log **ret, const struct adp_log_options *options,
                      struct adp_drain *drain, struct adp_error *err)
{
    struct adp_log *log = calloc(1, sizeof *log);
    if (!log) {
        adp_drain_destroy(drain);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    log->drain = drain;
    log->poll_ns = (options->poll_ms ? options->poll_ms : POLL_MS) * MS;
    log->sleep_ns = log->poll_ns;
    log->clock = options->clock;
    adp_line_init(&log->lines);
    pthread_mutex_init(&log->mutex, NULL);
    log->wake = log->done = -1;
    int code = open_file(&log->file, options, err);
    if (code == 0)
        code = open_events(log, err);
    if (code < 0) {
        destroy(log);
        return code;
    }
    log->file.writer = (uint16_t)(adp_drain_instance(log->drain) & 0xffff);
    memcpy(log->path, log->file.path, sizeof log->path);
    *ret = log;
    return 0;
}

int adp_log_start(struct adp_log *log, struct adp_error *err)
{
    sigset_t most, before;
    most_signals(&most);
    log->threaded = true; /* before there is a thread to read it */
    pthread_sigmask(SIG_SETMASK, &most, &before);
    int code = pthread_create(&log->thread, NULL, run, log);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        return 0;
    log->threaded = false;
    return adp_error_set(err, ADP_EIO, "cannot start the log's thread: %s",
                         strerror(code));
}

/* Without the thread: steps until the rings are empty and all is written, or nothing could be
 * for as long as the patience. */
static int write_all(struct adp_log *log)
{
    bool more = true;
    for (uint64_t waited = 0;;) {
        take_asked(log);
        int code = step(log, &more);
        note_step(log, code);
        if (code == 0 && !more)
            return 0;
        if (code == 0) {
            waited = 0;
            continue;
        }
        if (waited >= PATIENCE_NS)
            return code;
        waited += wait_fd(log, log->wake, rest(log, code, more, 0));
    }
}

/* Waits for the thread, for whatever `reached` asks: up to `ns` in which it gets nowhere. In
 * slices: the eventfd may tell of a flush that nobody waits for any more. */
static bool wait_for(struct adp_log *log, uint64_t ns,
                     bool (*reached)(const struct adp_log *log))
{
    const uint64_t slice_ns = ns / 10;
    uint64_t waited = 0, seen = 0;
    for (;;) {
        pthread_mutex_lock(&log->mutex);
        bool is = reached(log);
        uint64_t steps = log->steps;
        pthread_mutex_unlock(&log->mutex);
        if (steps != seen)
            waited = 0;
        seen = steps;
        if (is || waited >= ns)
            return is;
        waited += wait_fd(log, log->done, slice_ns);
    }
}

static bool is_flushed(const struct adp_log *log)
{
    return log->flush_done == log->flush_asked;
}

static bool has_ended(const struct adp_log *log)
{
    return log->ended;
}

static bool is_renewed(const struct adp_log *log)
{
    return !log->renew;
}

/* What keeps the log from being written. Under the mutex, or when the thread has ended. */
static const char *reason_of(const struct adp_log *log)
{
    if (log->shut_out)
        return "another process holds the file's lock";
    if (log->failure == -EWOULDBLOCK)
        return log->pipe
                   ? "nobody empties the pipe"
                   : "other processes replace the file, or write to it, all the time";
    if (log->failure < 0)
        return strerror(-log->failure);
    return log->writing ? "the write does not return" : "its thread does not get on";
}

int adp_log_flush(struct adp_log *log, struct adp_error *err)
{
    const char *reason;
    if (!log->threaded) {
        if (write_all(log) == 0)
            return 0;
        reason = reason_of(log);
    } else {
        pthread_mutex_lock(&log->mutex);
        log->flush_asked++;
        pthread_mutex_unlock(&log->mutex);
        signal_fd(log->wake);
        if (wait_for(log, PATIENCE_NS, is_flushed))
            return 0;
        pthread_mutex_lock(&log->mutex);
        reason = reason_of(log);
        pthread_mutex_unlock(&log->mutex);
    }
    return adp_error_set(err, ADP_EIO, "cannot write the log %s: %s", log->path, reason);
}

bool adp_log_renew(struct adp_log *log, uint64_t patience_ns)
{
    pthread_mutex_lock(&log->mutex);
    log->renew = true;
    pthread_mutex_unlock(&log->mutex);
    if (!log->threaded) {
        if (write_all(log) == 0)
            renew(log);
    } else {
        signal_fd(log->wake);
        wait_for(log, patience_ns, is_renewed);
    }
    pthread_mutex_lock(&log->mutex);
    bool done = !log->renew;
    log->renew = false;
    pthread_mutex_unlock(&log->mutex);
    return done;
}

void adp_log_reopen(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    log->reopen = true;
    pthread_mutex_unlock(&log->mutex);
    signal_fd(log->wake);
}

/* A file that can be opened there, and closed again; the caller's. */
static int open_once(struct adp_logfile **ret, const struct adp_log_options *options,
                     struct adp_error *err)
{
    struct adp_logfile *next = malloc(sizeof *next);
    if (!next)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    int code = open_file(next, options, err);
    if (code < 0) {
        free(next);
        return code;
    }
    adp_logfile_close(next);
    *ret = next;
    return 0;
}

int adp_log_try(const struct adp_log_options *options, struct adp_error *err)
{
    struct adp_logfile *file;
    int code = open_once(&file, options, err);
    if (code == 0)
        free(file);
    return code;
}

int adp_log_move(struct adp_log *log, const struct adp_log_options *options,
                 struct adp_error *err)
{
    struct adp_logfile *next;
    int code = open_once(&next, options, err);
    if (code < 0)
        return code;
    /* What cannot be written where it belongs now goes on to the next file. */
    adp_log_flush(log, NULL);
    pthread_mutex_lock(&log->mutex);
    struct adp_logfile *former = log->move;
    log->move = next;
    memcpy(log->path, next->path, sizeof log->path);
    pthread_mutex_unlock(&log->mutex);
    free(former);
    signal_fd(log->wake);
    return 0;
}

struct adp_log_count adp_log_counts(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    struct adp_log_count count = log->count;
    pthread_mutex_unlock(&log->mutex);
    return count;
}

/* What has not reached the file. The thread has ended or is within a write, so the drain is
 * nobody's; how far that write will come nobody knows, and all of its lines count. The opening
 * of a file is a line that is in the one before already, and no more of either. */
struct lost {
    uint64_t lines, records;
    const char *reason;
};

static struct lost count_lost(const struct adp_log *log)
{
    return (struct lost) { adp_drain_count(log->drain).lines - log->count.lines,
                           adp_drain_left(log->drain), reason_of(log) };
}

/* Lets the thread end by itself where it is within a write that does not return: it frees
 * the log when it does. False: it has ended. */
static bool leave_behind(struct adp_log *log, struct lost *ret_lost)
{
    for (;;) {
        pthread_mutex_lock(&log->mutex);
        log->orphan = !log->ended && log->writing;
        bool behind = log->orphan;
        if (behind) {
            *ret_lost = count_lost(log);
            ret_lost->reason =
                "the write does not return"; /* whatever the one before did */
            pthread_detach(log->thread);
        }
        bool ended = log->ended;
        pthread_mutex_unlock(&log->mutex);
        if (behind || ended)
            return behind;
        wait_fd(log, log->done, TRY_NS); /* it computes, and will come by */
    }
}

/* True: the thread has the log for good. */
static bool end_thread(struct adp_log *log, struct lost *ret_lost)
{
    pthread_mutex_lock(&log->mutex);
    log->stop = true;
    pthread_mutex_unlock(&log->mutex);
    signal_fd(log->wake);
    if (!wait_for(log, PATIENCE_NS, has_ended)) {
        pthread_mutex_lock(&log->mutex);
        log->give_up = true;
        pthread_mutex_unlock(&log->mutex);
        signal_fd(log->wake);
        if (!wait_for(log, LAST_NS, has_ended) && leave_behind(log, ret_lost))
            return true;
    }
    pthread_join(log->thread, NULL);
    *ret_lost = count_lost(log);
    return false;
}

static void end_alone(struct adp_log *log, struct lost *ret_lost)
{
    int code = write_all(log);
    if (code == 0 && drain_end(log))
        write_all(log);
    *ret_lost = count_lost(log);
}

int adp_log_close(struct adp_log *log, struct adp_error *err)
{
    struct lost lost = { 0 };
    bool behind = false;
    char path[ADP_LOGFILE_PATH];
    if (!log)
        return 0;
    memcpy(path, log->path, sizeof path);
    if (log->threaded)
        behind = end_thread(log, &lost);
    else
        end_alone(log, &lost);
    if (!behind)
        destroy(log);
    if (!behind && lost.lines == 0 && lost.records == 0)
        return 0;
    return adp_error_set(
        err, ADP_EIO,
        "the log %s is not whole, %llu lines and %llu queued records are "
        "lost: %s",
        path, (unsigned long long)lost.lines, (unsigned long long)lost.records,
        lost.reason);
}
