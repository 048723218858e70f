/* SPDX-License-Identifier: MIT */
/* admitperf experiments: what has been recorded here. */
#include "runtime/analysis/experiments.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"

#include <stdbool.h>

static const struct adp_option options[] = {
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_experiments = {
    .name = "experiments",
    .does = "list what has been recorded here: experiments, policies, repeats",
    .synopsis = "[--json] [DIR|LOG]...",
    .about =
        "Reads every *.jsonl below the folders (default: the current one). What a log\n"
        "belongs to is what its lines say; names of files say nothing. Missing "
        "baselines\n"
        "and copies that pose as repeats are pointed out.",
    .options = options,
    .example = "admitperf experiments",
    .exits = "0  listed\n"
             "2  bad usage, no log found, or one that cannot be read",
    .run = run,
};

static int run(struct adp_args *args)
{
    static const char *const here[] = { "." };
    bool json = false;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == 'j')
            json = true;
        else if (o != ADP_ARGS_OPERAND)
            return args->exit;
    }
    size_t n = args->n_operands;
    struct adp_experiments *experiments;
    struct adp_error err = { 0 };
    if (adp_experiments_read(n ? adp_args_operands(args) : here, n ? n : 1, &experiments,
                             &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    int code = json ? adp_experiments_json(experiments, stdout)
                    : adp_experiments_print(experiments, stdout);
    if (json)
        adp_experiments_unread(experiments, stderr);
    adp_experiments_destroy(experiments);
    if (code != ADP_ENOMEM)
        return ADP_EXIT_DONE; /* what could not be written is seen at the end */
    adp_say("out of memory");
    return ADP_EXIT_BAD;
}
