/* SPDX-License-Identifier: MIT */
/* The file of a log: lines appended to whatever is at a path.
 *
 * It knows files and lines, not what is in them; it keeps nothing, starts nothing and
 * waits for nobody: what cannot be done now is a negative errno, and tried again when it is
 * called again.
 *
 *  1. Lines are appended whole. What a failed write left of one is taken back; where that
 *     cannot be, the line is continued if nobody has written behind it, and begun again if
 *     somebody has. A file that ends within a line, whoever left it so, gets the newline
 *     first.
 *  2. Several processes may share a path. A lock (flock) is held from the look whether the
 *     file is still the one at the path until the lines are written or the file is
 *     rotated, so a line is in exactly one file, and two never rotate the same one. Who
 *     holds it for longer than ADP_LOGFILE_MISSES tries, stopped by a signal for example,
 *     is not waited for: lines are then appended without it, and nothing is rotated.
 *  3. A file that was removed, moved away or replaced is opened anew at its path. Where
 *     that fails nothing is written: a file that another process has rotated is complete, and
 *     one that somebody moved may be packed already. Only one that has its name still, where
 *     we may not look any more, is written to.
 *  4. A file opened in place of another starts with the opening. It does not grow beyond
 *     rotate_bytes, or twice its opening where that is more, unless a single line does, or
 *     rotation fails; then lines go on in it.
 *  5. What is no regular file (a FIFO, a device) is appended to as it takes it, without
 *     waiting, and is never rotated.
 *  6. A rotated file is NAME.20261130T154512.042Z-7f3a.jsonl for good: the time (UTC) of its
 *     rotation, and the writer who rotated it, four hex digits. Both, so that nothing has to
 *     be there for a name never to be given twice: a writer's stamps ascend, and those of
 *     two differ. A stamp is later than every one that is known, the writer's last and what
 *     was listed, also when the clock was set back; no file is ever renamed over another.
 *  7. Exactly such names of this path, up to a day ahead of the clock, are ours; nothing else
 *     counts, or is removed. Of ours the newest `keep` stay. The folder is listed at the
 *     first rotation and after each 1 + keep / 16 of our own, and the oldest go then, 64 at
 *     most; any other rotation is one rename. After a clock that was set back by more than a
 *     day what it wrote before is nobody's until then, for every writer alike: else those who
 *     knew the former time would remove what others write now as the oldest.
 *  8. A link at the path stays; what it leads to is written to, and is rotated where it lies,
 *     under its own name. One that leads elsewhere is as a file that was replaced. */
#ifndef ADP_CORE_LOGFILE_H
#define ADP_CORE_LOGFILE_H

#include "core/error.h"
#include "core/line.h"

enum { ADP_LOGFILE_PATH = 4096, ADP_LOGFILE_MISSES = 500 };

struct adp_logfile {
    char path[ADP_LOGFILE_PATH];
    uint64_t rotate_bytes; /* 0: never */
    uint32_t keep;         /* rotated files; 0: none */
    bool reopen;           /* wanted at the next write */
    uint16_t writer;       /* whose files these are; set by the caller */

    int fd;                      /* -1: to be opened */
    char name[ADP_LOGFILE_PATH]; /* it had when opened; empty: not known */
    bool regular, readable, locked;
    bool current;       /* what is at the path, when last looked at */
    bool lockless;      /* the file system has no locks: rotated without */
    bool fresh;         /* opened, nothing written yet */
    bool within;        /* a line: begun in the file, not ended */
    bool bare;          /* nothing in the file but our opening */
    uint64_t size;      /* when last looked at, and what we wrote since */
    uint64_t end;       /* where our last write ended; UINT64_MAX: none in this file */
    uint64_t cut;       /* size at which it ended within a line, seen without the lock */
    uint64_t rotate_at; /* 0, or not before this size: the last rotation failed */
    uint64_t due;       /* bytes that still go into the file, however large it is */
    size_t front;       /* bytes of opening that the lines that wait begin with */
    bool repeated;      /* it is in another file already, and no line of its own */
    uint32_t misses;    /* of the lock, in a row */
    uint64_t newest;    /* stamp of a rotated file that we know of; 0: of none */
    uint32_t unlisted;  /* rotations to come before the folder is listed */
    uint64_t bytes;     /* written in all */
    uint64_t lines;     /* ended in all, openings that are repeated not among them */
    uint64_t troubles;  /* openings and rotations that failed and were done without */
};

/* ADP_EINVAL: the path is too long, or its last name for what rotation puts behind it. Opens
 * nothing. */
int adp_logfile_init(struct adp_logfile *file, const char *path, uint64_t rotate_bytes,
                     uint32_t keep, struct adp_error *err);
/* Opens the path, making its folders. Negative errno: ENXIO for a FIFO nobody reads. */
int adp_logfile_open(struct adp_logfile *file);
void adp_logfile_close(struct adp_logfile *file);
/* Why it could not be opened: of a FIFO what ENXIO means there. Static, or as strerror. */
const char *adp_logfile_reason(const struct adp_logfile *file, int code);
/* The next write goes to another path. */
int adp_logfile_move(struct adp_logfile *file, const char *path, uint64_t rotate_bytes,
                     uint32_t keep, struct adp_error *err);

/* Writes `lines` from *written on, and advances it. 0: all is written, and the caller clears
 * both. Negative errno: the rest, and what must be begun again, is kept; EWOULDBLOCK with
 * `misses` above 0: another process has the lock. `opening` goes before the rest where
 * invariant 4 asks for it: `lines` grows by it, once for each time all of it was written.
 * `wall_ns`: the time, for rotated files; not looked at where there are none. */
int adp_logfile_write(struct adp_logfile *file, struct adp_line *lines, size_t *written,
                      const struct adp_line *opening, uint64_t wall_ns);

#endif
