/* SPDX-License-Identifier: MIT */
/* The bytes of a file, or of a pipe, unpacked when they are gzip or Zstandard.
 *
 * What is packed is known by its first bytes, never by its name. Members and frames that
 * follow one another are one stream, as zcat and zstdcat have it. */
#ifndef ADP_ANALYSIS_SOURCE_H
#define ADP_ANALYSIS_SOURCE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct adp_source; /* opaque */

/* `fd` stays the caller's. NULL: out of memory. */
struct adp_source *adp_source_create(int fd);
void adp_source_destroy(struct adp_source *source);

/* Up to `cap` bytes; 0: the end; ADP_EIO; ADP_ENOMEM. */
ssize_t adp_source_read(struct adp_source *source, char *to, size_t cap,
                        struct adp_error *err);
/* After the end: packed bytes are damaged or end early, and what follows was not read. */
bool adp_source_is_damaged(const struct adp_source *source);
/* Bytes taken from the descriptor so far. */
uint64_t adp_source_taken(const struct adp_source *source);

/* Is a file that begins so packed? */
bool adp_source_is_packed(const void *first, size_t len);

#endif
