/* SPDX-License-Identifier: MIT */
/* The log (core/log.h). */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BATCH = 256 * 1024, /* bytes of lines per write */
    POLL_MS = 5,
    TRY_MS = 10, /* between tries while flushing against a failing disk */
    TRIES = 200, /* of them: two seconds */
    PATH_CAP = 4096
};

struct adp_log {
    pthread_mutex_t mutex;
    struct adp_drain *drain;
    struct adp_line lines; /* drained, not written yet */
    size_t written;        /* bytes of `lines` that are in the file */
    int fd;                /* -1: to be opened */
    char path[PATH_CAP];
    uint64_t rotate_bytes, size;
    uint32_t keep, poll_ms;
    bool reopen, stop, threaded, opened_once;
    const struct adp_clock *clock;
    struct adp_log_count count;
    int wake; /* eventfd */
    pthread_t thread;
};

/* --- the file --- */

static int make_folders(const char *path)
{
    char folder[PATH_CAP];
    size_t n = strlen(path);
    memcpy(folder, path, n + 1);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

static int open_file(struct adp_log *log)
{
    struct stat st;
    int made = make_folders(log->path);
    if (made < 0)
        return made;
    /* O_NONBLOCK: a FIFO that nobody reads is an error now, not a thread that hangs. */
    int fd =
        open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0) {
        int code = errno;
        close(fd);
        return -code;
    }
    log->fd = fd;
    log->size = (uint64_t)st.st_size;
    return 0;
}

/* PATH.jsonl → PATH.i.jsonl; a path without that ending gets the number behind it. */
static void rotated_name(const struct adp_log *log, uint32_t i, char *to, size_t cap)
{
    size_t n = strlen(log->path), end = strlen(".jsonl");
    bool known = n > end && strcmp(log->path + n - end, ".jsonl") == 0;
    size_t stem = known ? n - end : n;
    snprintf(to, cap, "%.*s.%u%s", (int)stem, log->path, i, known ? ".jsonl" : "");
}

static void rotate(struct adp_log *log)
{
    char from[PATH_CAP + 16], to[PATH_CAP + 16];
    for (uint32_t i = log->keep; i > 1; i--) {
        rotated_name(log, i - 1, from, sizeof from);
        rotated_name(log, i, to, sizeof to);
        rename(from, to); /* the first times there is none */
    }
    rotated_name(log, 1, to, sizeof to);
    if (log->keep)
        rename(log->path, to);
    else
        unlink(log->path);
}

/* True when our descriptor is still the file at the path: another process may have
 * rotated. */
static bool is_current(const struct adp_log *log)
{
    struct stat ours, theirs;
    return fstat(log->fd, &ours) == 0 && stat(log->path, &theirs) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Puts the snapshot in force before what waits, in the file just opened. */
static void put_opening(struct adp_log *log)
{
    const struct adp_line *opening = adp_drain_opening(log->drain);
    size_t rest = log->lines.len - log->written;
    if (!opening->len || opening->broken || !adp_line_reserve(&log->lines, opening->len))
        return;
    memmove(log->lines.text + log->written + opening->len, log->lines.text + log->written,
            rest);
    memcpy(log->lines.text + log->written, opening->text, opening->len);
    log->lines.len += opening->len;
}

/* The file to write to next: opened, rotated when it is full, opened anew when it was asked for
 * or when what we hold is no longer what is at the path (removed, moved away, replaced). In the
 * middle of a line it stays the same. */
static int ready_file(struct adp_log *log)
{
    bool between = log->written == 0 || log->lines.text[log->written - 1] == '\n';
    if (log->fd >= 0 && between) {
        bool current = is_current(log);
        bool full = log->rotate_bytes && log->size >= log->rotate_bytes;
        if (full && current)
            rotate(log);
        if (full || !current || log->reopen) {
            close(log->fd);
            log->fd = -1;
            log->reopen = false;
        }
    }
    if (log->fd >= 0)
        return 0;
    int opened = open_file(log);
    if (opened < 0)
        return opened;
    if (log->opened_once)
        put_opening(log);
    log->opened_once = true;
    return 0;
}

/* --- one step --- */

/* Takes back the beginning of a line that a failed write left at the end of the file, so that
 * whoever else appends finds whole lines. Only if nobody has appended behind it yet. */
static void take_back_fragment(struct adp_log *log)
{
    struct stat st;
    size_t start = log->written;
    while (start > 0 && log->lines.text[start - 1] != '\n')
        start--;
    size_t fragment = log->written - start;
    off_t end = lseek(log->fd, 0, SEEK_CUR);
    if (!fragment || end < 0 || fstat(log->fd, &st) < 0 || st.st_size != end ||
        ftruncate(log->fd, end - (off_t)fragment) < 0)
        return;
    log->written = start;
    log->size -= fragment;
    log->count.bytes -= fragment;
}

/* Writes what is drained. 0, or -errno with the rest kept. */
static int write_lines(struct adp_log *log)
{
    if (log->written == log->lines.len)
        return 0;
    int ready = ready_file(log);
    if (ready < 0)
        return ready;
    while (log->written < log->lines.len) {
        ssize_t n =
            write(log->fd, log->lines.text + log->written, log->lines.len - log->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = errno;
            take_back_fragment(log);
            return -code;
        }
        log->written += (size_t)n;
        log->size += (uint64_t)n;
        log->count.bytes += (uint64_t)n;
    }
    adp_line_clear(&log->lines);
    log->written = 0;
    return 0;
}

/* One batch. True when more is waiting. */
static bool step(struct adp_log *log, int *ret_error)
{
    pthread_mutex_lock(&log->mutex);
    *ret_error = write_lines(log);
    bool more = false;
    if (*ret_error == 0) {
        more = adp_drain_run(log->drain, &log->lines, BATCH);
        if (log->lines.broken) {
            log->lines.broken = false;
            *ret_error = -ENOMEM;
        }
        int wrote = write_lines(log);
        if (*ret_error == 0)
            *ret_error = wrote;
    }
    if (*ret_error < 0)
        log->count.write_errors++;
    pthread_mutex_unlock(&log->mutex);
    return more || *ret_error < 0;
}

static void wait_ms(struct adp_log *log, uint32_t ms)
{
    struct pollfd wake = { .fd = log->wake, .events = POLLIN };
    uint64_t n;
    if (poll(&wake, 1, (int)ms) > 0 && read(log->wake, &n, sizeof n) < 0)
        return;
}

static void *run(void *arg)
{
    struct adp_log *log = arg;
    for (;;) {
        int error = 0;
        bool more = step(log, &error);
        pthread_mutex_lock(&log->mutex);
        bool stop = log->stop;
        pthread_mutex_unlock(&log->mutex);
        if (stop)
            return NULL;
        if (error < 0 || !more)
            wait_ms(log, error < 0 ? TRY_MS : log->poll_ms);
    }
}

static void wake(struct adp_log *log)
{
    uint64_t one = 1;
    ssize_t n = write(log->wake, &one, sizeof one);
    (void)n; /* full: it is awake already */
}

/* --- what others call --- */

int adp_log_open_take(struct adp_log **ret, const struct adp_log_options *options,
                      struct adp_drain *drain, struct adp_error *err)
{
    struct adp_log *log = calloc(1, sizeof *log);
    size_t n = strlen(options->path);
    if (!log || n >= PATH_CAP) {
        free(log);
        adp_drain_destroy(drain);
        return n >= PATH_CAP
                   ? adp_error_set(err, ADP_EINVAL, "the log's path is too long")
                   : adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    memcpy(log->path, options->path, n + 1);
    log->drain = drain;
    log->fd = -1;
    log->rotate_bytes = options->rotate_bytes;
    log->keep = options->keep;
    log->poll_ms = options->poll_ms ? options->poll_ms : POLL_MS;
    log->clock = options->clock;
    adp_line_init(&log->lines);
    pthread_mutex_init(&log->mutex, NULL);
    log->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int opened = log->wake < 0 ? -errno : open_file(log);
    if (opened < 0) {
        adp_error_set(err, ADP_EIO, "cannot open the log %s: %s", log->path,
                      strerror(-opened));
        adp_log_close(log, NULL);
        return ADP_EIO;
    }
    log->opened_once = true;
    *ret = log;
    return 0;
}

int adp_log_start(struct adp_log *log, struct adp_error *err)
{
    int code = pthread_create(&log->thread, NULL, run, log);
    if (code)
        return adp_error_set(err, ADP_EIO, "cannot start the log's thread: %s",
                             strerror(code));
    log->threaded = true;
    return 0;
}

/* Steps until everything is written; gives up after TRIES failures. */
static int write_all(struct adp_log *log)
{
    int error = 0;
    for (int failures = 0; failures < TRIES;) {
        if (!step(log, &error))
            return 0;
        if (error < 0) {
            failures++;
            poll(NULL, 0, TRY_MS);
        }
    }
    return error;
}

int adp_log_flush(struct adp_log *log, struct adp_error *err)
{
    int error = write_all(log);
    if (error < 0)
        return adp_error_set(err, ADP_EIO, "cannot write the log %s: %s", log->path,
                             strerror(-error));
    return 0;
}

void adp_log_reopen(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    log->reopen = true;
    pthread_mutex_unlock(&log->mutex);
    wake(log);
}

int adp_log_try(const char *path, struct adp_error *err)
{
    struct adp_log log = { .fd = -1 };
    size_t n = strlen(path);
    if (n >= PATH_CAP)
        return adp_error_set(err, ADP_EINVAL, "the log's path is too long");
    memcpy(log.path, path, n + 1);
    int opened = open_file(&log);
    if (opened < 0)
        return adp_error_set(err, ADP_EIO, "cannot open the log %s: %s", path,
                             strerror(-opened));
    close(log.fd);
    return 0;
}

void adp_log_move(struct adp_log *log, const char *path, uint64_t rotate_bytes,
                  uint32_t keep)
{
    pthread_mutex_lock(&log->mutex);
    log->rotate_bytes = rotate_bytes;
    log->keep = keep;
    if (strcmp(log->path, path) != 0) {
        memcpy(log->path, path, strlen(path) + 1); /* as long as adp_log_try allows */
        log->reopen = true;
    }
    pthread_mutex_unlock(&log->mutex);
    wake(log);
}

struct adp_log_count adp_log_counts(struct adp_log *log)
{
    pthread_mutex_lock(&log->mutex);
    struct adp_drained drained = adp_drain_count(log->drain);
    struct adp_log_count count = log->count;
    pthread_mutex_unlock(&log->mutex);
    count.lines = drained.lines;
    count.dropped = drained.dropped;
    return count;
}

static int finish(struct adp_log *log, struct adp_error *err)
{
    if (log->threaded) {
        pthread_mutex_lock(&log->mutex);
        log->stop = true;
        pthread_mutex_unlock(&log->mutex);
        wake(log);
        pthread_join(log->thread, NULL);
    }
    int error = write_all(log);
    if (error == 0) {
        adp_drain_end(log->drain, &log->lines, log->clock->wall_ns(log->clock->ctx));
        error = write_all(log);
    }
    if (error == 0)
        return 0;
    return adp_error_set(err, ADP_EIO,
                         "the log %s is not whole, %zu bytes and what was still "
                         "queued are lost: %s",
                         log->path, log->lines.len - log->written, strerror(-error));
}

int adp_log_close(struct adp_log *log, struct adp_error *err)
{
    if (!log)
        return 0;
    int code = log->opened_once ? finish(log, err) : 0;
    if (log->fd >= 0)
        close(log->fd);
    if (log->wake >= 0)
        close(log->wake);
    adp_line_finish(&log->lines);
    adp_drain_destroy(log->drain);
    pthread_mutex_destroy(&log->mutex);
    free(log);
    return code;
}
