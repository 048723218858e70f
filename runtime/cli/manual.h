/* SPDX-License-Identifier: MIT */
/* Manual pages in mdoc(7), written from the table of commands and their options as the help
 * is (help.h), so that they cannot say less or more than what is parsed. */
#ifndef ADP_RUNTIME_CLI_MANUAL_H
#define ADP_RUNTIME_CLI_MANUAL_H

#include "runtime/cli/command.h"

#include <stdio.h>

/* admitperf-NAME(1). `date`: the page's, as mdoc has it ("December 1, 2026"). */
void adp_manual_command(FILE *to, const struct adp_command *command, const char *date);

/* admitperf(1): the program and its commands (NULL-terminated). */
void adp_manual_program(FILE *to, const struct adp_command *const *commands,
                        const char *date);

#endif
