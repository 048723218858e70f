/* SPDX-License-Identifier: MIT */
/* From paths to a tally: finding logs, reading them.
 *
 * A path is a file, "-" (standard input), a pattern ("runs/r*.jsonl", where there is no file
 * of that very name), or a folder: then every *.jsonl, *.jsonl.gz and *.jsonl.zst below it,
 * but not in .git, node_modules, .venv, __pycache__, nor through links to folders. A file is
 * read once however often it is reached. What is found and cannot be read is passed over
 * and noted, never silently; what was named must be readable. Which experiment, policy and
 * run a line belongs to is what the line says; names of files say nothing.
 *
 * Files are read by as many threads as there are processors, large ones in slices; the
 * figures are those that one thread would find. */
#ifndef ADP_ANALYSIS_LOGS_H
#define ADP_ANALYSIS_LOGS_H

#include "runtime/analysis/tally.h"

#include <stdio.h>

struct adp_log_path {
    char *path;
    bool found;   /* by searching a folder: then it may be somebody else's file */
    bool foreign; /* it was: none of its first lines is ours. Set by reading */
    bool read;
    uint32_t given; /* the newest adp_logs_find that came upon it, from 1 */
    uint32_t file;  /* its number in the tally it was merged into */
    struct adp_key key;
};

/* Found, and passed over. */
struct adp_log_unread {
    char *path, *why;
    uint32_t given;
};

struct adp_log_list {
    struct adp_log_path *paths; /* owned, in natural order within each path given */
    size_t n, cap;
    struct adp_index seen;         /* by device and inode: the path's number */
    struct adp_log_unread *unread; /* owned; each path once */
    size_t n_unread, cap_unread;
    struct adp_index noted;              /* by path: the number in unread */
    uint32_t finds;                      /* how often adp_logs_find was called */
    const struct adp_progress *progress; /* borrowed; NULL: nobody asks */
};

/* Told now and then how much of what is to be read has been, in bytes; by any thread, one
 * at a time. `total` 0: not known. */
struct adp_progress {
    void (*tell)(void *context, uint64_t done, uint64_t total);
    void *context;
};

void adp_logs_finish(struct adp_log_list *list);

/* Adds what `path` stands for to the list, which starts zeroed. ADP_ENOENT: there is no
 * such file, or no *.jsonl below the folder, readable or not; ADP_EIO; ADP_ENOMEM. A
 * folder whose files are in the list already adds nothing, and is no error. */
int adp_logs_find(struct adp_log_list *list, const char *path, struct adp_error *err);

/* Whether a file just read is wanted in the tally. */
typedef bool adp_logs_choose(const struct adp_tally *file, void *context);

/* Reads the files from number `from` on, each into a tally of its own, and merges those
 * that `choose` (NULL: all; asked by one thread at a time) wants into `tally`. ADP_EIO, of a
 * file that was named, or for want of room for what does not fit in memory; ADP_ENOMEM. */
int adp_logs_read(struct adp_log_list *list, size_t from, struct adp_tally *tally,
                  adp_logs_choose *choose, void *context, struct adp_error *err);

/* 0 when something was read of what the finds from number `given` on came upon, or nothing
 * was passed over; else ADP_EIO with the first that was. */
int adp_logs_any(const struct adp_log_list *list, uint32_t given, struct adp_error *err);

/* All of it, of what the `n` paths stand for: find each, read, any. The list starts zeroed. */
int adp_logs_gather(struct adp_log_list *list, const char *const *paths, size_t n,
                    struct adp_tally *tally, adp_logs_choose *choose, void *context,
                    struct adp_error *err);

/* A line for each that was passed over: "not read: PATH: why". */
void adp_logs_unread(const struct adp_log_list *list, FILE *to);

#endif
