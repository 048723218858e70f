/* SPDX-License-Identifier: MIT */
/* admitperf report: what a policy did in a log, and whether it could have fired. */
#include "runtime/analysis/report.h"
#include "runtime/cli/args.h"
#include "runtime/cli/html_file.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/say.h"
#include "runtime/dashboard/html.h"

enum { OPT_CHECK = 256, OPT_HTML };

static const struct adp_option options[] = {
    { OPT_CHECK, "check", NULL,
      "exit 1 unless the log can support a claim: LIVE,\n"
      "or a baseline, and no loss that is not recorded" },
    { OPT_HTML, "html", "FILE",
      "write a page for a browser, too: one file with\n"
      "charts, that needs no network" },
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_report = {
    .name = "report",
    .does = "say what a policy did in a log, and whether it could have fired",
    .synopsis = "[--check] [--json] [--html FILE] LOG|DIR|-...",
    .about = "Reads logs, and every *.jsonl below folders. The finding comes first:\n"
             "\n"
             "  LIVE     the policy fired, or all gates of one of its rules held\n"
             "  INERT    it could be judged and never fired: how close it came is on the "
             "page\n"
             "  UNKNOWN  a baseline, no decisions, or signals that were never supplied\n"
             "\n"
             "Then the ranges of the signals, the refusals, what it cost, and everything "
             "that\n"
             "weakens the page. `admitperf terms WORD` explains a word on it.",
    .options = options,
    .example = "admitperf report experiments/demo/kv_threshold",
    .exits = "0  the page was written, and --check holds\n"
             "1  --check does not hold; stderr says why\n"
             "2  bad usage, or a log that cannot be read",
    .run = run,
};

static int answer(const struct adp_report *report, bool json, bool check)
{
    int code = json ? adp_report_json(report, stdout) : adp_report_print(report, stdout);
    if (code == ADP_ENOMEM) {
        adp_say("out of memory");
        return ADP_EXIT_BAD;
    }
    if (json)
        adp_report_unread(report, stderr);
    /* What could not be written is seen at the end, by the caller. */
    return check && !adp_report_check(report, stderr) ? ADP_EXIT_NO : ADP_EXIT_DONE;
}

static int write_html(const void *report, FILE *to)
{
    return adp_html_report(report, to);
}

static int run(struct adp_args *args)
{
    const char *html = NULL;
    bool check = false, json = false;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == OPT_CHECK)
            check = true;
        else if (o == OPT_HTML)
            html = args->value;
        else if (o == 'j')
            json = true;
        else if (o != ADP_ARGS_OPERAND)
            return args->exit;
    }
    if (!args->n_operands)
        return adp_args_wrong(args, "no log given: a file, a folder, or - for stdin");
    struct adp_report *report;
    struct adp_error err = { 0 };
    struct adp_cli_progress shown;
    int e = adp_report_read_telling(adp_args_operands(args), args->n_operands,
                                    adp_cli_progress_init(&shown), &report, &err);
    adp_cli_progress_finish(&shown);
    if (e < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    int code = answer(report, json, check);
    if (html && !adp_html_file_write(html, write_html, report))
        code = ADP_EXIT_BAD;
    adp_report_destroy(report);
    return code;
}
