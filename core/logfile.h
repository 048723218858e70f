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
 *     that fails the old one is written to as long as it has a name anywhere.
 *  4. A file opened in place of another starts with the opening. It does not grow beyond
 *     rotate_bytes, unless a single line does, or rotation fails; then lines go on in it.
 *  5. What is no regular file (a FIFO, a device) is appended to as it takes it, without
 *     waiting, and is never rotated.
 *  6. A rotated file is NAME.N.jsonl for good, N of at most seven digits and without zeros
 *     before it: what is named otherwise, by a date for example, is not ours, counts for
 *     nothing and is never removed. N is above all that are there, so the highest
 *     is the newest, and no file is ever renamed over another. A rotation is one rename
 *     and the removal of N - keep, whatever `keep` is; the folder is listed where the highest
 *     number is not known or is not there any more, and then what is older goes too, 64
 *     files at a time. */
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

    int fd; /* -1: to be opened */
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
    size_t front;       /* bytes of opening that the lines that wait begin with */
    uint32_t misses;    /* of the lock, in a row */
    uint64_t highest;   /* number of a rotated file that we know of; 0: of none */
    bool listed;        /* the folder, for it; nothing in it was due */
    uint64_t bytes;     /* written in all */
    uint64_t troubles;  /* openings and rotations that failed and were done without */
};

/* ADP_EINVAL: the path is too long. Opens nothing. */
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
 * invariant 4 asks for it: `lines` grows by it, once for each time all of it was written. */
int adp_logfile_write(struct adp_logfile *file, struct adp_line *lines, size_t *written,
                      const struct adp_line *opening);

#endif
