/* SPDX-License-Identifier: MIT */
/* A file as lines, whatever its size, from any descriptor, packed or not; or a slice of one.
 *
 * Memory is one buffer of ADP_LINE_MAX and a read's worth. A longer line is skipped and
 * said to be too long; it never grows the buffer. */
#ifndef ADP_ANALYSIS_LINES_H
#define ADP_ANALYSIS_LINES_H

#include "core/error.h"
#include "core/line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_lines; /* opaque */

struct adp_raw_line {
    const char
        *text;  /* borrowed until the next call; ADP_READER_PADDING bytes follow it */
    size_t len; /* without the newline; 0 when too_long */
    uint64_t number; /* from 1 */
    uint64_t offset; /* of its first byte in the stream */
    bool too_long;
    bool unterminated; /* the last, and no newline ends it */
};

/* `fd` stays the caller's. NULL: out of memory. */
struct adp_lines *adp_lines_create(int fd);
/* The lines of a regular file that begin in [from, to). Slices that meet give every line
 * once. Numbers are the slice's own. */
struct adp_lines *adp_lines_create_slice(int fd, uint64_t from, uint64_t to);
void adp_lines_destroy(struct adp_lines *lines);
/* Bytes taken from the descriptor so far. */
uint64_t adp_lines_taken(const struct adp_lines *lines);
/* After the end: it is packed, and damaged or cut short there. */
bool adp_lines_is_damaged(const struct adp_lines *lines);

/* 1: *ret is the next line; 0: the end; ADP_EIO with errno's words; ADP_ENOMEM. */
int adp_lines_next(struct adp_lines *lines, struct adp_raw_line *ret,
                   struct adp_error *err);

#endif
