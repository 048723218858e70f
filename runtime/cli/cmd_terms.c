/* SPDX-License-Identifier: MIT */
/* admitperf terms: every word a page prints, in words. */
#include "runtime/analysis/terms.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"

static const struct adp_option options[] = { { 0 } };

static int run(struct adp_args *args);

const struct adp_command adp_cmd_terms = {
    .name = "terms",
    .does = "explain the words that pages print, all or some",
    .synopsis = "[WORD]...",
    .about = "Case does not matter; a term of two words is one WORD: \"goodput\", "
             "\"calibrated deadlines\".",
    .options = options,
    .example = "admitperf terms goodput inert",
    .exits = "0  explained\n"
             "2  bad usage, or no such term; stderr names the nearest",
    .run = run,
};

static int explain(const char *word)
{
    struct adp_error err = { 0 };
    if (adp_terms_print(stdout, word, &err) != ADP_ENOENT)
        return ADP_EXIT_DONE;
    adp_say_error(&err);
    return ADP_EXIT_BAD;
}

static int run(struct adp_args *args)
{
    if (!adp_args_take_operands(args))
        return args->exit;
    int code = args->n_operands ? ADP_EXIT_DONE : explain(NULL);
    for (size_t i = 0; i < args->n_operands; i++) {
        if (explain(args->operands[i]) != ADP_EXIT_DONE)
            code = ADP_EXIT_BAD;
    }
    return code;
}
