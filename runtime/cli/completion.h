/* SPDX-License-Identifier: MIT */
/* Completion for shells, written from the table of commands and their options. */
#ifndef ADP_RUNTIME_CLI_COMPLETION_H
#define ADP_RUNTIME_CLI_COMPLETION_H

#include "runtime/cli/command.h"

#include <stdio.h>

/* The shells there is one for; NULL-terminated. */
extern const char *const adp_completion_shells[];

/* The script for adp_completion_shells[shell]. `commands` is NULL-terminated. */
void adp_completion_print(FILE *to, int shell, const struct adp_command *const *commands);

#endif
