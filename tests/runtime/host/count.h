/* SPDX-License-Identifier: MIT */
/* A process that counts the lines of a log while it is written, and takes its rotated files
 * away, so that a log of any length fits the disk. Included by one file of a program.
 *
 * Of the ways to count them this disturbs the writer least: a reader of a FIFO is woken for
 * each batch and has the writer wait for it, files that all stay until the end are written
 * back to a disk that is slower than the log, and a thread would be one of ours when it is
 * asked whether ours had processors enough. What is left is one copy of each line out of the
 * page cache, a search for its end, and its last bytes, where lane and number stand.
 *
 *  1. A rotated file is taken by renaming it: what has a time is complete, and keeps it.
 *     In which order does not matter: each file says which numbers of records it has, and
 *     they are put together at the end.
 *  2. A number of a lane is in one line, or within the count of one loss: `gaps` and `twice`
 *     are 0. The line that a file is opened with is said again, and left out of that.
 *  3. One line in SAMPLE is read as JSON; the others end like a line of ours does. */
#ifndef ADP_TESTS_HOST_COUNT_H
#define ADP_TESTS_HOST_COUNT_H

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_LANES = 65, COUNT_PIECE = 2 << 20, COUNT_SAMPLE = 997, COUNT_POLL_MS = 5 };

struct count {
    uint64_t files, lines, bytes;
    uint64_t decisions, losses; /* lines of lanes that are open to hosts */
    uint64_t dropped;           /* records of these, as the losses say */
    uint64_t unopened;          /* files that do not start with a snapshot */
    uint64_t odd;               /* lines that are none of ours */
    uint64_t gaps, twice;       /* numbers */
    char odd_line[256];         /* the first of them */
};

struct counter {
    pid_t pid;
    int end; /* closed: nothing more is written */
    struct count *seen;
};

/* Numbers of one lane in one file: first … next - 1. */
struct span {
    uint64_t first, next;
    uint32_t lane;
    bool opening;
};

struct count_work {
    struct count *c;
    struct span *span; /* owned */
    size_t n, cap;
    struct span file[COUNT_LANES]; /* of the file at hand; next 0: none */
    bool first;                    /* the line is the first of its file */
};

static inline void count_keep(struct count_work *w, struct span span)
{
    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 1024;
        w->span = realloc(w->span, w->cap * sizeof *w->span);
        if (!w->span)
            _exit(3);
    }
    w->span[w->n++] = span;
}

/* The number behind `key`, which a line ends with: …"lane":1,"seq":23} */
static inline bool count_number(const char *line, const char **end, const char *key,
                                uint64_t *ret)
{
    const char *at = *end;
    size_t len = strlen(key);
    uint64_t value = 0, ten = 1;
    for (; at > line && at[-1] >= '0' && at[-1] <= '9'; ten *= 10)
        value += (uint64_t)(*--at - '0') * ten;
    if (at == *end || (size_t)(at - line) < len || memcmp(at - len, key, len) != 0)
        return false;
    *end = at - len;
    *ret = value;
    return true;
}

static inline void count_odd(struct count *c, const char *line, size_t len)
{
    if (c->odd++ == 0)
        snprintf(c->odd_line, sizeof c->odd_line, "%.*s", (int)(len < 255 ? len : 255),
                 line);
}

/* `key`: what a line of its kind has. */
static inline void count_parse(struct count *c, const char *line, size_t len,
                               const char *key)
{
    json_t *j = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_object_get(j, key))
        count_odd(c, line, len);
    json_decref(j);
}

static inline void count_numbers(struct count_work *w, uint32_t lane, uint64_t seq,
                                 uint64_t many)
{
    struct span *s = &w->file[lane];
    if (w->first) { /* what it repeats is known only at the end */
        count_keep(w, (struct span) { seq, seq + many, lane, true });
        return;
    }
    if (s->next && seq != s->next) {
        count_keep(w, *s);
        s->next = 0;
    }
    if (!s->next)
        *s = (struct span) { .first = seq, .lane = lane };
    s->next = seq + many;
}

/* One line, without its newline. */
static inline void count_line(struct count_work *w, const char *line, size_t len)
{
    static const char loss[] = "\"dropped\":{\"what\":\"record\",\"count\":";
    struct count *c = w->c;
    const char *end = line + len - 1, *key = memchr(line, ',', len < 40 ? len : 40);
    uint64_t lane, seq, many = 1;
    c->lines++;
    if (len < 40 || !key || line[0] != '{' || *end != '}' ||
        !count_number(line, &end, ",\"seq\":", &seq) ||
        !count_number(line, &end, ",\"lane\":", &lane) || lane >= COUNT_LANES) {
        count_odd(c, line, len);
        return;
    }
    bool lost =
        strncmp(key + 1, loss, strlen(loss)) == 0; /* ends at the newline at most */
    if (lost)
        many = strtoull(key + 1 + strlen(loss), NULL, 10);
    if (lane) {
        c->decisions += !lost;
        c->losses += lost;
        c->dropped += lost ? many : 0;
    }
    if (w->first)
        c->unopened += lane != 0 || lost;
    if (w->first || lost || c->lines % COUNT_SAMPLE == 0)
        count_parse(c, line, len, lost ? "dropped" : lane ? "verdict" : "snapshot");
    count_numbers(w, (uint32_t)lane, seq, many);
    w->first = false;
}

/* The lines of a piece; returns the bytes of the line that it ends within. */
static inline size_t count_piece(struct count_work *w, const char *piece, size_t len)
{
    const char *at = piece, *end = piece + len, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        count_line(w, at, (size_t)(newline - at));
        at = newline + 1;
    }
    return (size_t)(end - at);
}

static inline void count_file(struct count_work *w, const char *path)
{
    static char piece[COUNT_PIECE];
    size_t kept = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        _exit(4);
    w->c->files++;
    w->first = true;
    while ((n = read(fd, piece + kept, sizeof piece - kept)) > 0) {
        size_t len = kept + (size_t)n;
        w->c->bytes += (uint64_t)n;
        kept = count_piece(w, piece, len);
        memmove(piece, piece + len - kept, kept);
        if (kept == sizeof piece)
            _exit(5);
    }
    if (kept)
        count_odd(w->c, piece, kept);
    close(fd);
    for (uint32_t i = 0; i < COUNT_LANES; i++)
        if (w->file[i].next)
            count_keep(w, w->file[i]);
    memset(w->file, 0, sizeof w->file);
}

/* Takes the rotated file with the lowest name, the oldest, if there is one, and counts it. */
static inline bool count_rotated(struct count_work *w, const char *where)
{
    char lowest[64] = "", first[128], taken[128];
    DIR *dir = opendir(where);
    if (!dir)
        _exit(6);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (fnmatch("log.????????T??????.???Z-????.jsonl", e->d_name, 0) == 0 &&
            (!*lowest || strcmp(e->d_name, lowest) < 0))
            snprintf(lowest, sizeof lowest, "%.60s", e->d_name);
    }
    closedir(dir);
    if (!*lowest)
        return false;
    snprintf(first, sizeof first, "%s/%s", where, lowest);
    snprintf(taken, sizeof taken, "%s/taken", where);
    if (rename(first, taken) < 0) /* nobody but us takes one, nor is one due */
        _exit(7);
    count_file(w, taken);
    return unlink(taken) == 0;
}

static inline int count_by_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->opening - y->opening;
}

/* Whether the numbers of each lane, from 0, are all there once. */
static inline void count_join(struct count_work *w)
{
    uint64_t next[COUNT_LANES] = { 0 };
    qsort(w->span, w->n, sizeof *w->span, count_by_first);
    for (size_t i = 0; i < w->n; i++) {
        const struct span *s = &w->span[i];
        uint64_t *at = &next[s->lane];
        if (s->first > *at)
            w->c->gaps += s->first - *at;
        else if (!s->opening)
            w->c->twice += (s->next < *at ? s->next : *at) - s->first;
        if (s->next > *at)
            *at = s->next;
    }
}

_Noreturn static inline void count_run(struct count *c, const char *where, int end)
{
    struct count_work w = { .c = c };
    struct pollfd until = { .fd = end, .events = POLLIN };
    char last[128];
    while (count_rotated(&w, where) || poll(&until, 1, COUNT_POLL_MS) == 0)
        ;
    while (count_rotated(&w, where))
        ;
    snprintf(last, sizeof last, "%s/log.jsonl", where);
    count_file(&w, last);
    count_join(&w);
    free(w.span);
    _exit(0);
}

/* Begins to count log.jsonl there: before the first thread, and before it is opened. `nice`:
 * below whom it is. */
static inline struct counter count_begin(const char *where, int nice)
{
    int pipe_fd[2];
    struct counter counter = { .pid = -1, .end = -1 };
    void *shared = mmap(NULL, sizeof *counter.seen, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(pipe_fd, O_CLOEXEC) < 0)
        abort();
    counter.seen = shared;
    fflush(NULL);
    counter.pid = fork();
    if (counter.pid == 0) {
        close(pipe_fd[1]);
        setpriority(PRIO_PROCESS, 0, nice);
        count_run(shared, where, pipe_fd[0]);
    }
    close(pipe_fd[0]);
    counter.end = pipe_fd[1];
    return counter;
}

/* The log is closed: what it has. -1: it could not be counted. */
static inline int count_end(struct counter *counter, struct count *ret)
{
    int status = -1;
    close(counter->end);
    if (waitpid(counter->pid, &status, 0) != counter->pid || status != 0)
        return -1;
    *ret = *counter->seen;
    return munmap(counter->seen, sizeof *counter->seen);
}

#endif
