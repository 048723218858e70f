/* SPDX-License-Identifier: MIT */
/* A page of metrics from a file, as one from a URL: where its last line has no newline, what
 * may lack a line is not read (runtime/scrape/ending.h). */
#ifndef ADP_RUNTIME_CLI_PAGE_FILE_H
#define ADP_RUNTIME_CLI_PAGE_FILE_H

#include <admitperf/error.h>

#include <stddef.h>
#include <stdint.h>

/* Reads the file, or stdin for "-", whole. *ret is the caller's to free, also on failure.
 * *ret_len: how much of it is the page, 0 when nothing is in it; `ret_cut`: samples
 * left out, which was said on stderr. ADP_EIO, ADP_EFULL (16 MiB), ADP_ENOMEM;
 * ADP_ESYNTAX: nothing of it can be read, as adp_promtext_read has it, or no metric of
 * it is sure to be whole. */
int adp_page_file_read(const char *name, char **ret, size_t *ret_len, uint32_t *ret_cut,
                       struct adp_error *err);

#endif
