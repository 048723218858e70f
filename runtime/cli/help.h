/* SPDX-License-Identifier: MIT */
/* The pages that teach: written from the table of commands and their options, so that
 * they cannot say less or more than what is parsed. */
#ifndef ADP_RUNTIME_CLI_HELP_H
#define ADP_RUNTIME_CLI_HELP_H

#include "runtime/cli/command.h"

/* Usage, what it does, options, an example, exit codes of one command, to stdout. */
void adp_help_command(const struct adp_command *command);

/* The program and its commands (NULL-terminated), to stdout. */
void adp_help_program(const struct adp_command *const *commands);

#endif
