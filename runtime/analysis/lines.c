/* SPDX-License-Identifier: MIT */
/* A file as lines.
 *
 *   buffer  [ … given out … | start … searched … end | free … cap | padding ]
 *
 * Invariant: bytes before `searched` hold no newline at or after `start`. */
#include "runtime/analysis/lines.h"

#include "runtime/analysis/reader.h"
#include "runtime/analysis/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 18 };

struct adp_lines {
    struct adp_source *source; /* owned; NULL: a slice of a file */
    int fd;
    uint64_t at, from, to; /* of a slice: where to read next; what it is */
    bool begun;
    size_t start, searched, end, cap;
    uint64_t offset; /* of buffer[start] in the stream */
    uint64_t number;
    bool ended;
    char buffer[];
};

static struct adp_lines *create(int fd)
{
    size_t cap = ADP_LINE_MAX + 1 + READ_SIZE;
    /* Zeroed: the bytes behind the last line are looked at as padding. */
    struct adp_lines *lines = calloc(1, sizeof *lines + cap + ADP_READER_PADDING);
    if (!lines)
        return NULL;
    lines->fd = fd;
    lines->cap = cap;
    lines->begun = true;
    lines->to = UINT64_MAX;
    return lines;
}

struct adp_lines *adp_lines_create(int fd)
{
    struct adp_lines *lines = create(fd);
    if (!lines)
        return NULL;
    lines->source = adp_source_create(fd);
    if (!lines->source) {
        free(lines);
        return NULL;
    }
    return lines;
}

struct adp_lines *adp_lines_create_slice(int fd, uint64_t from, uint64_t to)
{
    struct adp_lines *lines = create(fd);
    if (!lines)
        return NULL;
    /* A slice begins behind the first newline at or after from - 1. */
    lines->begun = from == 0;
    lines->at = lines->offset = from ? from - 1 : 0;
    lines->from = from;
    lines->to = to;
    return lines;
}

void adp_lines_destroy(struct adp_lines *lines)
{
    if (!lines)
        return;
    adp_source_destroy(lines->source);
    free(lines);
}

uint64_t adp_lines_taken(const struct adp_lines *lines)
{
    return lines->source ? adp_source_taken(lines->source) : lines->at - lines->from;
}

bool adp_lines_is_damaged(const struct adp_lines *lines)
{
    return lines->source && adp_source_is_damaged(lines->source);
}

static ssize_t read_slice(struct adp_lines *lines, struct adp_error *err)
{
    ssize_t got;
    do
        got = pread(lines->fd, lines->buffer + lines->end, READ_SIZE, (off_t)lines->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return adp_error_set(err, ADP_EIO, "cannot be read: %s", strerror(errno));
    lines->at += (uint64_t)got;
    return got;
}

static int refill(struct adp_lines *lines, struct adp_error *err)
{
    if (lines->start) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->searched -= lines->start;
        lines->end -= lines->start;
        lines->start = 0;
    }
    ssize_t got =
        lines->source
            ? adp_source_read(lines->source, lines->buffer + lines->end, READ_SIZE, err)
            : read_slice(lines, err);
    if (got < 0)
        return (int)got;
    lines->ended = got == 0;
    lines->end += (size_t)got;
    return 0;
}

/* Gives out the bytes up to `stop`, which is a newline or the end. */
static void give(struct adp_lines *lines, size_t stop, bool terminated,
                 struct adp_raw_line *ret)
{
    ret->text = lines->buffer + lines->start;
    ret->len = stop - lines->start;
    ret->number = ++lines->number;
    ret->offset = lines->offset;
    ret->too_long = ret->len > ADP_LINE_MAX;
    ret->unterminated = !terminated;
    if (ret->too_long)
        ret->len = 0;
    size_t past = stop + (terminated ? 1 : 0);
    lines->offset += past - lines->start;
    lines->start = lines->searched = past;
}

/* Passes over the rest of a line that has outgrown the buffer. */
static int skip(struct adp_lines *lines, struct adp_raw_line *ret, struct adp_error *err)
{
    uint64_t first = lines->offset;
    for (;;) {
        lines->offset += lines->end - lines->start;
        lines->start = lines->searched = lines->end;
        int e = refill(lines, err);
        if (e)
            return e;
        char *newline = memchr(lines->buffer, '\n', lines->end);
        if (!newline && !lines->ended)
            continue;
        give(lines, newline ? (size_t)(newline - lines->buffer) : lines->end, newline,
             ret);
        ret->offset = first;
        ret->len = 0;
        ret->too_long = true;
        return 1;
    }
}

/* As adp_lines_next, of whatever begins where we are. */
static int next(struct adp_lines *lines, struct adp_raw_line *ret, struct adp_error *err)
{
    for (;;) {
        char *from = lines->buffer + lines->searched;
        char *newline = memchr(from, '\n', lines->end - lines->searched);
        if (newline) {
            give(lines, (size_t)(newline - lines->buffer), true, ret);
            return 1;
        }
        lines->searched = lines->end;
        if (lines->end - lines->start > ADP_LINE_MAX)
            return skip(lines, ret, err);
        if (lines->ended) {
            if (lines->start == lines->end)
                return 0;
            give(lines, lines->end, false, ret);
            return 1;
        }
        int e = refill(lines, err);
        if (e)
            return e;
    }
}

int adp_lines_next(struct adp_lines *lines, struct adp_raw_line *ret,
                   struct adp_error *err)
{
    if (!lines->begun) {
        struct adp_raw_line before;
        int e = next(lines, &before, err);
        if (e <= 0)
            return e;
        lines->begun = true;
        lines->number = 0;
    }
    return lines->offset < lines->to ? next(lines, ret, err) : 0;
}
