/* SPDX-License-Identifier: MIT */
/* admitperf completion: what `make install` puts where shells look. */
#include "runtime/cli/args.h"
#include "runtime/cli/completion.h"
#include "runtime/cli/say.h"

#include <string.h>

static const struct adp_option options[] = { { 0 } };

static int run(struct adp_args *args);

const struct adp_command adp_cmd_completion = {
    .name = "completion",
    .does = "write a shell's completion of these commands",
    .synopsis = "bash|zsh|fish",
    .about =
        "The script for one shell, made of the same table as this page. An installed\n"
        "program has them where the shells look; a shell that is running takes it by\n"
        "eval or source.",
    .options = options,
    .example = "eval \"$(admitperf completion bash)\"",
    .exits = "0  written\n"
             "2  bad usage, or no such shell",
    .run = run,
};

static int run(struct adp_args *args)
{
    if (!adp_args_take_operands(args))
        return args->exit;
    for (int i = 0; args->n_operands == 1 && adp_completion_shells[i]; i++) {
        if (strcmp(args->operands[0], adp_completion_shells[i]) == 0) {
            adp_completion_print(stdout, i, adp_commands);
            return ADP_EXIT_DONE;
        }
    }
    return adp_args_wrong(args, "one shell: bash, zsh or fish");
}
