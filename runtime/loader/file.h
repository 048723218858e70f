/* SPDX-License-Identifier: MIT */
/* Reading the operator's file: whole, bounded, hashed, and only when nobody but its owner
 * and group could have written it. It is opened once; what is checked is what is read. */
#ifndef ADP_RUNTIME_FILE_H
#define ADP_RUNTIME_FILE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct adp_file {
    uint8_t *bytes; /* owned */
    size_t len;
    char sha256[65]; /* of the bytes, lower-case hexadecimal */
};

/* Reads a file of at most `most` bytes. `path` is absolute; symbolic links are followed.
 * ADP_EINVAL: not absolute. ADP_ENOENT. ADP_EABI: no regular file, or writable by
 * everybody: itself, or (unless sticky) a folder that it, or a link to it, lies in.
 * ADP_EFULL: longer. ADP_EIO, ADP_ENOMEM. Never waits for a writer (a FIFO is refused).
 * [control] */
int adp_file_read(struct adp_file *ret, const char *path, size_t most,
                  struct adp_error *err);
void adp_file_finish(struct adp_file *file);

/* Holds a folder against that rule. `path`: the file it matters for, named in the error.
 * ADP_EABI, ADP_ENOENT, ADP_EIO. [any] */
int adp_file_check_folder(const char *folder, const char *path, struct adp_error *err);

#endif
