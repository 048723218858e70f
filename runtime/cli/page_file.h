/* SPDX-License-Identifier: MIT */
/* A page of metrics from a file. */
#ifndef ADP_RUNTIME_CLI_PAGE_FILE_H
#define ADP_RUNTIME_CLI_PAGE_FILE_H

#include <admitperf/error.h>

#include <stddef.h>

/* Reads the file, or stdin for "-", whole. *ret is the caller's to free, also on failure.
 * ADP_EIO, ADP_EFULL (16 MiB), ADP_ENOMEM. */
int adp_page_file_read(const char *name, char **ret, size_t *ret_len,
                       struct adp_error *err);

#endif
