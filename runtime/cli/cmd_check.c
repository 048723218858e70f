/* SPDX-License-Identifier: MIT */
/* admitperf check: whether a policy's file keeps to the contract. */
#include "runtime/check/check.h"
#include "runtime/cli/args.h"
#include "runtime/cli/named.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct adp_option options[] = {
    { 'j', "json", NULL, "for machines: one object; none where the code is 2" },
    { 'o', "only", "ID", "this check, and those it stands on if they fail" },
    { 'b', "budget", "NS", "what decide may take, at the 99th percentile" },
    { 's', "seed", "N", "of the requests; else it follows from the file" },
    { 'c', "config", "JSON", "what the operator's `config:` would hold" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_check = {
    .name = "check",
    .does = "try a policy's file against the contract, rule by rule",
    .synopsis = "[OPTION...] FILE.so[:PARAM=VALUE,...] | NAME[:PARAM=VALUE,...]",
    .about =
        "Asks some thirty questions of the file, each in a process of its own: what it\n"
        "exports, what loading it changes, what its tables say, whether its verdicts "
        "can\n"
        "be used, depend on what they are given alone, leave absent readings unread, "
        "agree\n"
        "with the gates it declares; what it does in threads, after a fork, when it is\n"
        "reloaded. Each failure says what was seen, how to mend it, and which rule of\n"
        "docs/abi.md it breaks; docs/checks.md lists the checks.\n"
        "\n"
        "A word without a slash that does not end in .so is looked for like\n"
        "`use: NAME`. Parameters behind a colon take the place of the defaults; a\n"
        "policy whose create refuses what is made up for a parameter without a default\n"
        "is given what it takes.",
    .options = options,
    .example = "admitperf check ./kv_wall.so --budget 500",
    .exits =
        "0  no check failed; some may have been skipped, with the reason\n"
        "1  some failed\n"
        "2  bad usage, or the file cannot be read or loaded here, or changes meanwhile,\n"
        "   or limits (ulimit) are too low for the checks themselves, or the machine\n"
        "   gave a check next to no time\n"
        "129  stopped by SIGHUP, 130 by SIGINT, 143 by SIGTERM; nothing is reported",
    .run = run,
};

static int check(const char *path, const struct adp_check_options *asked, bool json)
{
    static struct adp_check_report report; /* too large for a stack */
    struct adp_error err = { 0 };
    int r = adp_check_run(&report, path, asked, &err);
    if (r == ADP_ESTATE)
        return 128 + *asked->stop;
    if (r == 0 && json)
        r = adp_check_print_json(stdout, &report, &err);
    else if (r == 0)
        adp_check_print(stdout, &report);
    if (r < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    return report.failed ? ADP_EXIT_NO : ADP_EXIT_DONE;
}

/* The parameters behind a policy's word, as `watch --policy` takes them; NULL: there are none.
 * They are such only behind a policy that is there: a file may have a colon in its name, and what
 * was meant to be something else may have a secret behind one. */
static const char *find_params(char *word, char *path, size_t cap)
{
    struct adp_error none = { 0 };
    char *slash = strrchr(word, '/'), *colon = strrchr(slash ? slash : word, ':');
    if (!colon || access(word, F_OK) == 0)
        return NULL;
    *colon = '\0';
    bool found = adp_named_file(word, path, cap, &none) == 0 && access(path, F_OK) == 0;
    *colon = ':';
    return found ? colon : NULL;
}

static int read_params(struct adp_named *named, const char *params, struct adp_error *err)
{
    char text[ADP_NAMED_TEXT];
    int n =
        snprintf(text, sizeof text, "policy%s", params); /* which one is no matter here */
    if (n < 0 || (size_t)n >= sizeof text)
        return adp_error_set(err, ADP_EINVAL, "the parameters are too long");
    return adp_named_read(named, text, 0, err);
}

static int run(struct adp_args *args)
{
    static struct adp_named named; /* large */
    struct adp_error err = { 0 };
    struct adp_check_options asked = { 0 };
    bool json = false;
    uint64_t number;
    char path[PATH_MAX], word[PATH_MAX];
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        switch (o) {
        case 'j':
            json = true;
            break;
        case 'o':
            asked.only = args->value;
            break;
        case 'b':
            if (!adp_args_count(args, 1, UINT64_C(1000000000), &asked.budget_ns))
                return args->exit;
            break;
        case 's':
            if (!adp_args_count(args, 1, UINT32_MAX, &number))
                return args->exit;
            asked.seed = (uint32_t)number;
            break;
        case 'c':
            asked.config = args->value;
            break;
        case ADP_ARGS_OPERAND:
            break;
        default:
            return args->exit;
        }
    }
    if (args->n_operands != 1)
        return adp_args_wrong(args, "one policy is expected, found %zu",
                              args->n_operands);
    const char *operand = adp_args_operands(args)[0];
    int n = snprintf(word, sizeof word, "%s", operand);
    if (n < 0 || (size_t)n >= sizeof word)
        return adp_args_wrong(args, "the path is too long");
    const char *params = find_params(word, path, sizeof path);
    if (params) {
        if (read_params(&named, params, &err) < 0)
            return adp_args_wrong(args, "%s: %s", operand, err.text);
        asked.given = &named.setting;
    } else if (adp_named_file(word, path, sizeof path, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    asked.stop = adp_stop_watch();
    return check(path, &asked, json);
}
