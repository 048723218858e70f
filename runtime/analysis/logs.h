/* SPDX-License-Identifier: MIT */
/* From paths to a tally: finding logs, reading them.
 *
 * A path is a file, "-" (standard input), or a folder: then every *.jsonl below it, but
 * not in .git, node_modules, .venv, __pycache__, nor through links to folders. A file is
 * read once however often it is reached. Which experiment, policy and run a line belongs
 * to is what the line says; names of files say nothing. */
#ifndef ADP_ANALYSIS_LOGS_H
#define ADP_ANALYSIS_LOGS_H

#include "runtime/analysis/tally.h"

struct adp_log_path {
    char *path;
    bool found;   /* by searching a folder: then it may be somebody else's file */
    bool foreign; /* it was: none of its first lines is ours. Set by reading */
};

struct adp_log_list {
    struct adp_log_path *paths; /* owned, in natural order within each path given */
    size_t n, cap;
    struct adp_index seen; /* by device and inode */
};

void adp_logs_finish(struct adp_log_list *list);

/* Adds what `path` stands for to the list, which starts zeroed. ADP_ENOENT: there is no
 * such file, or no *.jsonl below the folder; ADP_EIO; ADP_ENOMEM. */
int adp_logs_find(struct adp_log_list *list, const char *path, struct adp_error *err);

/* Whether a file just read is wanted in the tally. */
typedef bool adp_logs_choose(const struct adp_tally *file, void *context);

/* Reads the files from number `from` on, each into a tally of its own, and merges those
 * that `choose` (NULL: all) wants into `tally`. ADP_EIO with the file's name, ADP_ENOMEM.
 */
int adp_logs_read(struct adp_log_list *list, size_t from, struct adp_tally *tally,
                  adp_logs_choose *choose, void *context, struct adp_error *err);

#endif
