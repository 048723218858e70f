/* SPDX-License-Identifier: MIT */
/* admitperf replay: what another policy would have said over a recorded trace. */
#include "runtime/lab/replay.h"

#include "runtime/analysis/logs.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_POLICY = 256, OPT_SWEEP };

static const struct adp_option options[] = {
    { OPT_POLICY, "policy", "P[:k=v,...]",
      "a policy to ask, by name or file, with parameters;\n"
      "may be given up to 8 times" },
    { OPT_SWEEP, "sweep", "k=a..b/n",
      "ask the first policy with its parameter k at n\n"
      "values from a to b (at most 100)" },
    { 'e', "experiment", "NAME",
      "what the written logs are called (default\n"
      "replay- and the recorded name)" },
    { 'o', "output", "DIR",
      "folder of the logs (default experiments); earlier\n"
      "replays of that name in it are replaced" },
    { 'n', "no-logs", NULL, "write no logs: the page is all" },
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_replay = {
    .name = "replay",
    .does = "say what another policy would have said over a recorded trace",
    .synopsis = "--policy P[:k=v,...] [--sweep k=a..b/n] [-e NAME] [-o DIR | -n] LOG...\n"
                "--policy P... --json LOG...",
    .about =
        "Asks other policies, and no_admission beside them, about every decision that a\n"
        "log recorded, or about every sample of a watch trace, through the decide path "
        "of\n"
        "the runtime and under the recorded time. Writes ordinary logs, for report.\n"
        "\n"
        "LOG is a file, packed or not, a pattern, a folder, or - for standard input; "
        "each\n"
        "file is a run.\n"
        "\n"
        "Open loop: the signals are those of the recorded run, and do not change with\n"
        "what is refused here. The page says what follows from that. A sweep chooses a\n"
        "threshold from last week's traffic: it shows the refused share at each value,\n"
        "and how near the gate came.",
    .options = options,
    .example = "admitperf replay --policy kv_threshold:threshold=0.8 week.jsonl",
    .exits = "0    the page and the logs were written\n"
             "2    bad usage, a policy that does not load, a log that cannot be read, a "
             "trace\n"
             "     in which every sample failed, a log in the way that is no replay\n"
             "129  stopped by SIGHUP, 130 by SIGINT, 143 by SIGTERM; the page\n"
             "     is of what was asked until then, and no logs are written",
    .run = run,
};

/* What was asked for, in words of this command's own. */
struct wanted {
    struct adp_replay_ask asks[ADP_REPLAY_POLICIES];
    char use[ADP_REPLAY_POLICIES][1024], params[ADP_REPLAY_POLICIES][256];
    char sweep[64];
    size_t n;
};

static bool is_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_')
            return false;
    return n > 0;
}

static bool is_value(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("+-._", s[i]))
            return false;
    return n > 0;
}

/* "k=v,k=v" as "k: v, k: v". The schema judges names and values. */
static bool take_params(const char *from, char *to, size_t cap)
{
    size_t used = 0;
    for (const char *s = from; *s;) {
        size_t len = strcspn(s, ","), key = strcspn(s, "=");
        if (key >= len || !is_word(s, key) || !is_value(s + key + 1, len - key - 1))
            return false;
        int n = snprintf(to + used, cap - used, "%s%.*s: %.*s", used ? ", " : "",
                         (int)key, s, (int)(len - key - 1), s + key + 1);
        if (n < 0 || (size_t)n >= cap - used)
            return false;
        used += (size_t)n;
        s += len + (s[len] == ',');
    }
    return true;
}

static bool take_policy(struct adp_args *args, struct wanted *wanted)
{
    const char *colon = strchr(args->value, ':');
    size_t len = colon ? (size_t)(colon - args->value) : strlen(args->value);
    if (wanted->n == ADP_REPLAY_POLICIES) {
        args->exit = adp_args_wrong(args, "more than %d policies", ADP_REPLAY_POLICIES);
        return false;
    }
    if (!len || len >= sizeof wanted->use[0] ||
        (colon &&
         !take_params(colon + 1, wanted->params[wanted->n], sizeof wanted->params[0]))) {
        args->exit = adp_args_wrong(
            args, "--policy \"%s\": expected NAME or a file, then :k=v,k=v if need be",
            args->value);
        return false;
    }
    snprintf(wanted->use[wanted->n], sizeof wanted->use[0], "%.*s", (int)len,
             args->value);
    wanted->asks[wanted->n] =
        (struct adp_replay_ask) { wanted->use[wanted->n], wanted->params[wanted->n] };
    wanted->n++;
    return true;
}

static bool take_number(const char **at, const char *until, double *ret)
{
    size_t n = strcspn(*at, until);
    char text[64], *end;
    /* ".." ends the first number. */
    const char *dots = strstr(*at, "..");
    if (strcmp(until, "..") == 0)
        n = dots ? (size_t)(dots - *at) : strlen(*at);
    if (!n || n >= sizeof text || !is_value(*at, n))
        return false;
    memcpy(text, *at, n);
    text[n] = '\0';
    *ret = strtod(text, &end); /* the program never leaves the C locale */
    *at += n;
    return !*end && isfinite(*ret);
}

static bool take_sweep(struct adp_args *args, struct wanted *wanted,
                       struct adp_replay_sweep *ret)
{
    const char *at = args->value;
    size_t key = strcspn(at, "=");
    double n = 0;
    bool good = at[key] && is_word(at, key) && key < sizeof wanted->sweep;
    at += key + (good ? 1 : 0);
    good = good && take_number(&at, "..", &ret->lo) && strncmp(at, "..", 2) == 0;
    at += good ? 2 : 0;
    good = good && take_number(&at, "/", &ret->hi) && *at == '/';
    at += good ? 1 : 0;
    good = good && take_number(&at, "/", &n) && !*at && n == floor(n) && n >= 1 &&
           n <= ADP_REPLAY_POINTS;
    if (!good) {
        args->exit =
            adp_args_wrong(args,
                           "--sweep \"%s\": expected k=a..b/n, n from 1 to %d, as in "
                           "threshold=0.5..0.95/10",
                           args->value, ADP_REPLAY_POINTS);
        return false;
    }
    snprintf(wanted->sweep, sizeof wanted->sweep, "%.*s", (int)key, args->value);
    ret->param = wanted->sweep;
    ret->n = (uint32_t)n;
    return true;
}

static int answer(struct adp_replay_result *result, bool json)
{
    int code = json ? adp_replay_json(result, stdout) : adp_replay_print(result, stdout);
    if (code == ADP_ENOMEM) {
        adp_say("out of memory");
        return ADP_EXIT_BAD;
    }
    return ADP_EXIT_DONE;
}

static int replay(const struct adp_replay_options *asked, bool json)
{
    struct adp_error err = { 0 };
    struct adp_replay_result *result = calloc(1, sizeof *result);
    if (!result) {
        adp_say("out of memory");
        return ADP_EXIT_BAD;
    }
    int code = ADP_EXIT_BAD;
    if (adp_replay_run(asked, result, &err) == 0) {
        code = answer(result, json);
        if (code == ADP_EXIT_DONE && *asked->stop)
            code = 128 + *asked->stop;
    } else if (result->errors.n) {
        adp_say_errors(&result->errors);
    } else {
        adp_say_error(&err);
    }
    adp_errors_free(&result->errors);
    free(result);
    return code;
}

/* The logs that the operands stand for: files, patterns, folders. */
static int find_and_replay(const struct adp_args *args, struct adp_replay_options *asked,
                           bool json)
{
    struct adp_log_list list = { 0 };
    struct adp_error err = { 0 };
    const char **paths = NULL;
    int e = 0, code = ADP_EXIT_BAD;
    for (size_t i = 0; i < args->n_operands && !e; i++)
        e = adp_logs_find(&list, adp_args_operands(args)[i], &err);
    if (!e && !(paths = calloc(list.n + 1, sizeof *paths)))
        e = adp_error_set(&err, ADP_ENOMEM, "out of memory");
    for (size_t i = 0; i < list.n && !e; i++)
        paths[i] = list.paths[i].path;
    adp_logs_unread(&list, stderr);
    if (!e && !list.n)
        e = adp_logs_any(&list, 0, &err);
    asked->logs = paths;
    asked->n_logs = list.n;
    if (e)
        adp_say_error(&err);
    else
        code = replay(asked, json);
    free(paths);
    adp_logs_finish(&list);
    return code;
}

static int run(struct adp_args *args)
{
    static struct wanted wanted;
    struct adp_replay_options asked = { .out = "experiments", .asks = wanted.asks };
    bool json = false, logs = true;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == OPT_POLICY) {
            if (!take_policy(args, &wanted))
                return args->exit;
        } else if (o == OPT_SWEEP) {
            if (!take_sweep(args, &wanted, &asked.sweep))
                return args->exit;
        } else if (o == 'e') {
            asked.experiment = args->value;
        } else if (o == 'o') {
            asked.out = args->value;
        } else if (o == 'n') {
            logs = false;
        } else if (o == 'j') {
            json = true;
        } else if (o != ADP_ARGS_OPERAND) {
            return args->exit;
        }
    }
    if (!wanted.n)
        return adp_args_wrong(args,
                              "no policy given: --policy kv_threshold:threshold=0.8");
    if (!args->n_operands)
        return adp_args_wrong(args, "no log given to replay");
    if (!logs)
        asked.out = NULL;
    asked.n_asks = wanted.n;
    asked.stop = adp_stop_watch();
    return find_and_replay(args, &asked, json);
}
