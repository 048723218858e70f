/* SPDX-License-Identifier: MIT */
/* The file that --html names. */
#ifndef ADP_RUNTIME_CLI_HTML_FILE_H
#define ADP_RUNTIME_CLI_HTML_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Writes it by `write`, which returns 0 or ADP_E…, in place of what was there; a page that could
 * not be written whole is not left behind. False: said on stderr. */
bool adp_html_file_write(const char *name, int (*write)(const void *what, FILE *to),
                         const void *what);

#endif
