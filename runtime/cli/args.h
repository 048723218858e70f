/* SPDX-License-Identifier: MIT */
/* The words after "admitperf NAME", one by one:
 *
 *     for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
 *         switch (o) {
 *         case 'o': out = args->value; break;
 *         case ADP_ARGS_OPERAND: break; // kept: adp_args_operands
 *         default: return args->exit;
 *         }
 *     }
 *
 * Understood: --name, --name VALUE, --name=VALUE, -o VALUE, -oVALUE, operands anywhere,
 * `-` as an operand, and everything after `--` as operands. Names are never abbreviated.
 * --help and -h are answered here for every command. What is wrong is said on stderr with
 * the way out. */
#ifndef ADP_RUNTIME_CLI_ARGS_H
#define ADP_RUNTIME_CLI_ARGS_H

#include "runtime/cli/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_args {
    const struct adp_command *command;
    int argc, at;
    char **argv;
    char **operands; /* those seen so far, kept in words of argv that are done with */
    size_t n_operands;
    bool operands_only;
    const struct adp_option *option; /* at hand */
    const char *value;               /* its value, or the operand; borrowed from argv */
    int exit; /* after ADP_ARGS_STOP: what the command must return */
};

enum {
    ADP_ARGS_END = 0,
    ADP_ARGS_OPERAND = 1,
    ADP_ARGS_STOP = 2 /* a mistake, or help was asked for */
};

/* The next option's id, or one of the above. */
int adp_args_next(struct adp_args *args);

/* The words of `argv` from number `at` on. */
struct adp_args adp_args_of(const struct adp_command *command, int argc, char **argv,
                            int at);

/* The program as it was called, which a shell takes again in the same folder. */
const char *adp_args_program(const struct adp_args *args);

/* Takes all words of a command that has no options. False: a mistake, or help was asked for;
 * return args->exit. */
bool adp_args_take_operands(struct adp_args *args);

/* The operands met until now, args->n_operands of them; borrowed from argv. */
const char *const *adp_args_operands(const struct adp_args *args);

/* Reads the value of the option at hand as a whole number lo..hi of plain digits. False:
 * said on stderr; return args->exit. */
bool adp_args_count(struct adp_args *args, uint64_t lo, uint64_t hi, uint64_t *ret);

/* Says on stderr what is wrong with how the command was called and where to read on.
 * Returns ADP_EXIT_BAD. */
int adp_args_wrong(const struct adp_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
