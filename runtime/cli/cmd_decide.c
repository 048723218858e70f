/* SPDX-License-Identifier: MIT */
/* admitperf decide: one request, answered by a configuration, recorded nowhere,
 * explained.
 *
 * Parses, reads the pages, asks the host; what comes out is explain.c's. */
#include "core/error.h"
#include "core/number.h"
#include "runtime/cli/args.h"
#include "runtime/cli/explain.h"
#include "runtime/cli/page_file.h"
#include "runtime/cli/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_METRICS = 'm', OPT_INTERVAL = 256, OPT_REQUEST_ID, OPT_FACT };

enum { MOST_PAGES = 2 };

static const struct adp_option options[] = {
    { 'c', "config", "FILE", "the configuration to decide by" },
    { OPT_METRICS, "metrics", "PAGE",
      "a page of metrics in Prometheus' text format, -\n"
      "for stdin; a second one comes --interval later" },
    { OPT_INTERVAL, "interval", "TIME", "time between the two pages, as 1s or 500ms" },
    { OPT_REQUEST_ID, "request-id", "ID",
      "what the enforcement split and the draw are of" },
    { OPT_FACT, "fact", "NAME=VALUE",
      "something known about the request: tenant,\n"
      "session, slo_class, priority, prompt_tokens,\n"
      "max_output_tokens, ttft_deadline_ms" },
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_decide = {
    .name = "decide",
    .does = "answer one request and explain why; nothing is recorded",
    .synopsis = "-c FILE [--metrics PAGE] [--request-id ID] [--fact NAME=VALUE]...\n"
                "-c FILE --metrics PAGE --metrics LATER --interval TIME",
    .about =
        "Says what the policy of FILE answers on these metrics, and with it each signal\n"
        "with the source that supplied it or why it is absent, each gate with its "
        "value,\n"
        "threshold and distance, and whether the answer is enforced on this request.\n"
        "\n"
        "A rate needs two pages: give the later one second, and how far they are apart.",
    .options = options,
    .example = "curl -s http://127.0.0.1:8000/metrics |\n"
               "  admitperf decide -c admitperf.yaml --metrics - --request-id r1",
    .exits = "0  decided, also when the decision is to reject\n"
             "2  bad usage, a configuration, policy or page that cannot be used",
    .run = run,
};

struct page {
    const char *name;
    char *text; /* owned */
    size_t len;
};

struct asked {
    const char *config;
    struct page pages[MOST_PAGES];
    unsigned n_pages;
    uint32_t cut_lines;   /* of all pages */
    uint64_t interval_ns; /* 0: not given */
    adp_facts facts;
    bool json;
};

/* --- what was asked --- */

static bool whole(const char *text, double lo, double hi, double *ret)
{
    double value;
    if (!adp_number_parse(text, strlen(text), &value) || !(value >= lo && value <= hi) ||
        value != floor(value))
        return false;
    *ret = value;
    return true;
}

static int bad_fact(struct adp_args *args, const char *name, const char *expected)
{
    return adp_args_wrong(args, "--fact %s takes %s, found \"%s\"", name, expected,
                          args->value);
}

/* Facts that are numbers. */
static int number_fact(struct adp_args *args, adp_facts *facts, const char *name,
                       const char *text)
{
    enum { TOKENS_MAX = 1 << 30 };
    double value;
    if (strcmp(name, "ttft_deadline_ms") == 0) {
        if (!adp_number_parse(text, strlen(text), &value) || !isfinite(value))
            return bad_fact(args, name, "a number of milliseconds");
        facts->ttft_deadline_ms = value;
        facts->present |= ADP_DEADLINE;
        return -1;
    }
    if (strcmp(name, "priority") == 0) {
        if (!whole(text, -1e9, 1e9, &value))
            return bad_fact(args, name, "a whole number");
        facts->priority = (int64_t)value;
        facts->present |= ADP_PRIORITY;
        return -1;
    }
    if (!whole(text, 0, TOKENS_MAX, &value))
        return bad_fact(args, name, "a whole number of tokens");
    bool prompt = strcmp(name, "prompt_tokens") == 0;
    *(prompt ? &facts->prompt_tokens : &facts->max_output_tokens) = (uint64_t)value;
    facts->present |= prompt ? (uint32_t)ADP_PROMPT : (uint32_t)ADP_OUTPUT;
    return -1;
}

static const char *const fact_names[] = {
    "tenant",        "session",           "slo_class",        "priority",
    "prompt_tokens", "max_output_tokens", "ttft_deadline_ms", NULL,
};

/* -1: taken; else what to exit with. */
static int take_fact(struct adp_args *args, adp_facts *facts)
{
    char name[32] = "";
    const char *equals = strchr(args->value, '=');
    if (!equals)
        return adp_args_wrong(args, "--fact takes NAME=VALUE, found \"%s\"", args->value);
    if ((size_t)(equals - args->value) < sizeof name)
        memcpy(name, args->value, (size_t)(equals - args->value));
    unsigned i = 0;
    while (fact_names[i] && strcmp(fact_names[i], name) != 0)
        i++;
    const char **const texts[] = { &facts->tenant, &facts->session, &facts->slo_class };
    if (i < sizeof texts / sizeof texts[0]) {
        *texts[i] = equals + 1;
        return -1;
    }
    if (fact_names[i])
        return number_fact(args, facts, name, equals + 1);
    const char *near = adp_error_nearest(name, fact_names);
    return near ? adp_args_wrong(args, "unknown fact in \"%s\", did you mean %s?",
                                 args->value, near)
                : adp_args_wrong(args, "unknown fact in \"%s\"", args->value);
}

static int check(struct adp_args *args, const struct asked *asked)
{
    unsigned n = asked->n_pages;
    if (!asked->config)
        return adp_args_wrong(args, "no configuration given: -c FILE");
    if (n == 2 && !asked->interval_ns)
        return adp_args_wrong(args, "two pages need --interval: how far they are apart");
    if (n < 2 && asked->interval_ns)
        return adp_args_wrong(args, "--interval needs two pages: --metrics twice");
    if (n == 2 && strcmp(asked->pages[0].name, "-") == 0 &&
        strcmp(asked->pages[1].name, "-") == 0)
        return adp_args_wrong(args, "stdin can be only one of the two pages");
    return -1;
}

/* -1: go on; else what to exit with. */
static int parse(struct adp_args *args, struct asked *ret)
{
    int wrong = -1;
    for (int o; wrong < 0 && (o = adp_args_next(args)) != ADP_ARGS_END;) {
        switch (o) {
        case 'c':
            ret->config = args->value;
            break;
        case OPT_METRICS:
            if (ret->n_pages == MOST_PAGES)
                return adp_args_wrong(args, "more than two pages");
            ret->pages[ret->n_pages++].name = args->value;
            break;
        case OPT_INTERVAL:
            if (!adp_config_duration(args->value, &ret->interval_ns) || !ret->interval_ns)
                wrong = adp_args_wrong(args,
                                       "--interval takes a time above 0 as 1s or "
                                       "500ms, found \"%s\"",
                                       args->value);
            break;
        case OPT_REQUEST_ID:
            ret->facts.request_id = args->value;
            break;
        case OPT_FACT:
            wrong = take_fact(args, &ret->facts);
            break;
        case 'j':
            ret->json = true;
            break;
        case ADP_ARGS_OPERAND:
            return adp_args_wrong(args, "takes no operand, found \"%s\"", args->value);
        default:
            return args->exit;
        }
    }
    return wrong < 0 ? check(args, ret) : wrong;
}

/* --- time: as it is now, and for the first of two pages the interval before --- */

struct moment {
    uint64_t wall_ns, mono_ns;
};

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t wall_ns(void *ctx)
{
    const struct moment *moment = ctx;
    return moment->wall_ns;
}

static uint64_t mono_ns(void *ctx)
{
    const struct moment *moment = ctx;
    return moment->mono_ns;
}

static uint64_t meter_ns(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

/* --- asking --- */

static int publish(adp_runtime *runtime, struct asked *asked, struct moment *moment,
                   adp_error *err)
{
    for (unsigned i = 0; i < asked->n_pages; i++) {
        struct page *page = &asked->pages[i];
        uint32_t cut = 0;
        int code = adp_page_file_read(page->name, &page->text, &page->len, &cut, err);
        asked->cut_lines += cut;
        if (i > 0) {
            moment->wall_ns += asked->interval_ns;
            moment->mono_ns += asked->interval_ns;
        }
        if (code == 0)
            code = adp_runtime_publish_text(runtime, page->text, page->len, err);
        if (code != 0 && !err->file[0])
            snprintf(err->file, sizeof err->file, "%s", page->name);
        if (code < 0)
            return code;
        if (code > 0) { /* in force, but something is wrong with it */
            adp_say_error(err);
            *err = (adp_error) { 0 };
        }
    }
    return 0;
}

static int answer(const struct adp_explained *e, const struct asked *asked,
                  adp_error *err)
{
    if (!asked->json) {
        adp_explain_note(e, asked->n_pages > 0);
        adp_explain_text(e);
        return 0;
    }
    int code = adp_explain_json(e);
    return code < 0 ? adp_error_set(err, code, "out of memory") : 0;
}

/* The signal itself is the sum of all engines; 0: not known. */
static double least_capacity(adp_runtime *runtime)
{
    int at = adp_signals_find(adp_host_config(runtime)->signals, "kv_capacity");
    double least = 0;
    return at >= 0 && adp_host_least(runtime, (uint32_t)at, &least) ? least : 0;
}

static int ask(adp_runtime *runtime, struct asked *asked, struct moment *moment,
               adp_error *err)
{
    adp_lane *lane;
    struct adp_explained e = { .runtime = runtime,
                               .request_id = asked->facts.request_id,
                               .decision = { .size = sizeof e.decision } };
    int code = adp_runtime_start(runtime, err);
    if (code == 0)
        code = publish(runtime, asked, moment, err);
    if (code == 0)
        code = adp_lane_open(&lane, runtime, err);
    if (code < 0)
        return code;
    e.capacity_tokens = least_capacity(runtime);
    e.cut_lines = asked->cut_lines;
    code = adp_host_explain(lane, &asked->facts, &e.decision, &e.why);
    if (code < 0)
        adp_error_set(err, code, "the runtime does not decide");
    else
        code = answer(&e, asked, err);
    adp_lane_close(lane);
    return code;
}

static int run(struct adp_args *args)
{
    struct asked asked = { .facts = { .size = sizeof asked.facts } };
    int wrong = parse(args, &asked);
    if (wrong >= 0)
        return wrong;
    struct moment moment = { read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC) };
    moment.wall_ns -= asked.interval_ns < moment.wall_ns ? asked.interval_ns : 0;
    const struct adp_clock clock = { &moment, wall_ns, mono_ns, meter_ns };
    const struct adp_host_options host = {
        .clock = &clock, .own_thread = true, .no_log = true, .lanes = 1, .ring_kb = 64
    };
    adp_runtime *runtime = NULL;
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    int code = adp_host_open(&runtime, asked.config, &host, &errors);
    if (code < 0)
        adp_say_errors(&errors);
    else if ((code = ask(runtime, &asked, &moment, &err)) < 0)
        adp_say_error(&err);
    adp_runtime_close(runtime, NULL);
    adp_errors_free(&errors);
    for (unsigned i = 0; i < MOST_PAGES; i++)
        free(asked.pages[i].text);
    return code < 0 ? ADP_EXIT_BAD : ADP_EXIT_DONE;
}
