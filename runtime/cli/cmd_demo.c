/* SPDX-License-Identifier: MIT */
/* admitperf demo: three policies on a simulated engine, compared; or a configuration's,
 * reported. */
#include "runtime/analysis/compare.h"
#include "runtime/analysis/report.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"
#include "runtime/lab/demo.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_OUT "experiments"

enum { OPT_REPEATS = 256, OPT_SEED, OPT_TRAFFIC };

static const struct adp_option options[] = {
    { 'c', "config", "FILE",
      "run this configuration's policies instead, and\n"
      "report them" },
    { OPT_REPEATS, "repeats", "N",
      "runs of each policy, 1 to 1000 (default 1); with\n"
      "2 or more the comparison has an error bar" },
    { OPT_SEED, "seed", "N",
      "whole number that the traffic is drawn from\n"
      "(default 1); the same seed, the same traffic" },
    { 'o', "output", "DIR",
      "folder of the logs (default experiments); earlier\n"
      "logs of the demo in it are replaced" },
    { OPT_TRAFFIC, "traffic", "DIR",
      "read POLICY-r<n>.csv there instead of drawing:\n"
      "request,arrival_tick,service_ticks" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_demo = {
    .name = "demo",
    .does = "run three policies on a simulated engine and compare them",
    .synopsis = "[-c FILE] [--repeats N] [--seed N] [-o DIR]\n"
                "[-c FILE] [--repeats N] --traffic DIR [-o DIR]",
    .about =
        "No GPU, no cluster, no network: a discrete-time engine with 48 slots, a FIFO\n"
        "queue and a KV cache of 384,000 tokens is offered 2.4 times what it can serve.\n"
        "Each policy faces the same 400 requests through the real runtime:\n"
        "\n"
        "  no_admission       the baseline: admits everything\n"
        "  kv_threshold 0.90  refuses when the KV cache is 90 % full\n"
        "  queue_depth 105    refuses when more than 105 requests wait, which is what\n"
        "                     48 slots take up before the SLO of 1,500 ms TTFT is lost\n"
        "\n"
        "Every decision is written to DIR/demo/POLICY/r<n>.jsonl. Only time is "
        "simulated.\n"
        "\n"
        "With -c the same traffic faces the policy and the shadows of FILE, which read\n"
        "vLLM's names for KV cache use, running and waiting requests. The log is of\n"
        "experiment demo-E, E being FILE's, and says that the engine was simulated.",
    .options = options,
    .example = "admitperf demo --repeats 5",
    .exits =
        "0    done\n"
        "2    bad usage or traffic, a policy that cannot be loaded, a log that cannot\n"
        "     be written, a file in the way that is not the demo's\n"
        "129  stopped by SIGHUP, 130 by SIGINT, 143 by SIGTERM; the logs\n"
        "     hold every decision made",
    .run = run,
};

struct request {
    struct adp_demo_options demo;
    bool seeded;
};

static int parse(struct adp_args *args, struct request *ret)
{
    uint64_t n = 1;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        switch (o) {
        case OPT_REPEATS:
            if (!adp_args_count(args, 1, ADP_DEMO_MAX_REPEATS, &n))
                return args->exit;
            ret->demo.repeats = (uint32_t)n;
            break;
        case OPT_SEED:
            if (!adp_args_count(args, 0, UINT64_MAX, &ret->demo.seed))
                return args->exit;
            ret->seeded = true;
            break;
        case 'c':
            ret->demo.config = args->value;
            break;
        case 'o':
            ret->demo.out = args->value;
            break;
        case OPT_TRAFFIC:
            ret->demo.traffic = args->value;
            break;
        case ADP_ARGS_OPERAND:
            return adp_args_wrong(args, "takes no operand, found \"%s\"", args->value);
        default:
            return args->exit;
        }
    }
    if (ret->demo.traffic && ret->seeded)
        return adp_args_wrong(args, "--seed draws traffic, --traffic reads it: "
                                    "give one of them");
    if (!ret->demo.out[0])
        return adp_args_wrong(args, "-o needs the name of a folder");
    return -1;
}

static void show(void *ctx, const char *policy, uint32_t repeat)
{
    const struct request *request = ctx;
    fprintf(stderr, "\r\033[K%s, run %u of %u", policy, repeat, request->demo.repeats);
}

static void say_report(const char *program, const char *path)
{
    printf("\nLook further:\n  ");
    adp_say_word(stdout, program);
    printf(" report ");
    adp_say_path(stdout, path);
    printf("\n");
}

/* The comparison of what was just written, and how to look further. */
static int conclude(const char *program, const char *out)
{
    char path[4096];
    const char *const roots[] = { path };
    struct adp_compare *compare;
    struct adp_error err = { 0 };
    snprintf(path, sizeof path, "%s/" ADP_DEMO_EXPERIMENT, out);
    if (adp_compare_experiment(ADP_DEMO_EXPERIMENT, roots, 1, &compare, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    adp_compare_print(compare, stdout); /* a failure to write is seen at the end */
    adp_compare_destroy(compare);
    snprintf(path, sizeof path, "%s/" ADP_DEMO_EXPERIMENT "/kv_threshold", out);
    say_report(program, path);
    printf("  ");
    adp_say_word(stdout, program);
    printf(" compare --experiment " ADP_DEMO_EXPERIMENT);
    if (strcmp(out, DEFAULT_OUT) != 0) {
        putchar(' ');
        adp_say_path(stdout, out);
    }
    printf("\n");
    return ADP_EXIT_DONE;
}

static void say_stopped(int signal, const struct adp_demo_options *demo,
                        const struct adp_demo_result *result)
{
    bool theirs = demo->config != NULL;
    adp_say("stopped by %s after %llu decisions; they are in %s%s",
            signal == SIGINT ? "SIGINT" : "SIGTERM",
            (unsigned long long)result->decisions, theirs ? result->folder : demo->out,
            theirs ? "" : "/" ADP_DEMO_EXPERIMENT);
}

/* The page on what a configuration's policies did. */
static int conclude_config(const char *program, const char *folder)
{
    struct adp_report *report;
    struct adp_error err = { 0 };
    if (adp_report_read(&folder, 1, &report, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    adp_report_print(report, stdout);
    adp_report_destroy(report);
    say_report(program, folder);
    return ADP_EXIT_DONE;
}

static int run(struct adp_args *args)
{
    const volatile sig_atomic_t *stop = adp_stop_watch();
    struct request request = {
        .demo = { .repeats = 1, .seed = ADP_DEMO_SEED, .out = DEFAULT_OUT, .stop = stop },
    };
    int wrong = parse(args, &request);
    if (wrong >= 0)
        return wrong;
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (terminal) {
        request.demo.progress = show;
        request.demo.ctx = &request;
    }
    struct adp_demo_result result = { 0 };
    struct adp_error err = { 0 };
    int failed = adp_demo_run(&request.demo, &result, &err);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (result.errors.n)
        adp_say_errors(&result.errors);
    else if (failed)
        adp_say_error(&err);
    adp_errors_free(&result.errors);
    if (*stop) {
        say_stopped(*stop, &request.demo, &result);
        return 128 + (int)*stop;
    }
    if (failed)
        return ADP_EXIT_BAD;
    const char *program = adp_args_program(args);
    return request.demo.config ? conclude_config(program, result.folder)
                               : conclude(program, request.demo.out);
}
