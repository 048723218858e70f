/* SPDX-License-Identifier: MIT */
/* admitperf compare: what a policy bought against a baseline. */
#include "runtime/analysis/compare.h"
#include "runtime/cli/args.h"
#include "runtime/cli/html_file.h"
#include "runtime/cli/say.h"
#include "runtime/dashboard/html.h"

enum { OPT_CHECK = 256, OPT_ARMS, OPT_HTML };

static const struct adp_option options[] = {
    { 'e', "experiment", "NAME",
      "every policy of that experiment against its\n"
      "baseline; looked for below DIR (default .)" },
    { OPT_ARMS, "arms", NULL,
      "the governed against the ungoverned requests of\n"
      "the logs given: the two arms of `enforce: f`" },
    { OPT_CHECK, "check", NULL, "exit 1 unless all four checks pass" },
    { OPT_HTML, "html", "FILE",
      "write a page for a browser, too: one file with\n"
      "charts, that needs no network" },
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_compare = {
    .name = "compare",
    .does = "say what a policy bought against a baseline",
    .synopsis = "[--check] [--json] [--html FILE] BASELINE POLICY\n"
                "[--check] [--json] [--html FILE] --experiment NAME [DIR]...\n"
                "[--check] [--json] [--html FILE] --arms LOG|DIR...",
    .about =
        "BASELINE and POLICY are logs or folders of logs, one log for each repeat. Four\n"
        "checks come before any number: the policy fired in every repeat, both sides\n"
        "faced the same load, outcomes were recorded, and the ranges of goodput do not\n"
        "overlap. With one repeat the last cannot be asked, and is no pass.",
    .options = options,
    .example = "admitperf compare --experiment demo",
    .exits = "0  the page was written, and --check holds\n"
             "1  --check does not hold; stderr says why\n"
             "2  bad usage, a log that cannot be read, no such experiment, no baseline",
    .run = run,
};

static int answer(const struct adp_compare *compare, bool json, bool check)
{
    int code =
        json ? adp_compare_json(compare, stdout) : adp_compare_print(compare, stdout);
    if (code == ADP_ENOMEM) {
        adp_say("out of memory");
        return ADP_EXIT_BAD;
    }
    if (json)
        adp_compare_unread(compare, stderr);
    /* What could not be written is seen at the end, by the caller. */
    return check && !adp_compare_check(compare, stderr) ? ADP_EXIT_NO : ADP_EXIT_DONE;
}

static int write_html(const void *compare, FILE *to)
{
    return adp_html_compare(compare, to);
}

static int read_logs(struct adp_compare **ret, const char *experiment, bool arms,
                     const char *const *paths, size_t n, struct adp_error *err)
{
    static const char *const here[] = { "." };
    if (arms)
        return adp_compare_arms(paths, n, ret, err);
    if (!experiment)
        return adp_compare_paths(paths[0], paths[1], ret, err);
    return adp_compare_experiment(experiment, n ? paths : here, n ? n : 1, ret, err);
}

static int run(struct adp_args *args)
{
    bool check = false, json = false, arms = false;
    const char *experiment = NULL, *html = NULL;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == 'e')
            experiment = args->value;
        else if (o == OPT_CHECK)
            check = true;
        else if (o == OPT_ARMS)
            arms = true;
        else if (o == OPT_HTML)
            html = args->value;
        else if (o == 'j')
            json = true;
        else if (o != ADP_ARGS_OPERAND)
            return args->exit;
    }
    if (arms && (experiment || !args->n_operands))
        return adp_args_wrong(args, "--arms takes logs or folders, and no --experiment");
    if (!arms && !experiment && args->n_operands != 2)
        return adp_args_wrong(
            args, "takes a baseline and a policy, or --experiment NAME, or --arms LOG");
    struct adp_compare *compare;
    struct adp_error err = { 0 };
    if (read_logs(&compare, experiment, arms, adp_args_operands(args), args->n_operands,
                  &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    int code = answer(compare, json, check);
    if (html && !adp_html_file_write(html, write_html, compare))
        code = ADP_EXIT_BAD;
    adp_compare_destroy(compare);
    return code;
}
