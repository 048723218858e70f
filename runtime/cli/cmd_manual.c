/* SPDX-License-Identifier: MIT */
/* admitperf manual: the manual pages that `make install` puts where man looks. */
#include "config.h"

#include "runtime/cli/args.h"
#include "runtime/cli/manual.h"
#include "runtime/cli/say.h"

static const struct adp_option options[] = { { 0 } };

static int run(struct adp_args *args);

const struct adp_command adp_cmd_manual = {
    .name = "manual",
    .does = "write a manual page, as mdoc",
    .synopsis = "[COMMAND]",
    .about = "The page of the program, or of a command, for man -l, mandoc or groff. An\n"
             "installed program has them all in its manual: man admitperf.",
    .options = options,
    .example = "admitperf manual report | man -l -",
    .exits = "0  written\n"
             "2  bad usage, or no such command",
    .run = run,
};

static int run(struct adp_args *args)
{
    if (!adp_args_take_operands(args))
        return args->exit;
    if (args->n_operands > 1)
        return adp_args_wrong(args, "one command, or none");
    if (args->n_operands == 0) {
        adp_manual_program(stdout, adp_commands, PACKAGE_DATE);
        return ADP_EXIT_DONE;
    }
    const struct adp_command *command = adp_command_find(args->operands[0]);
    if (!command)
        return adp_args_wrong(args, "no command is called \"%s\"", args->operands[0]);
    adp_manual_command(stdout, command, PACKAGE_DATE);
    return ADP_EXIT_DONE;
}
