/* SPDX-License-Identifier: MIT */
/* admitperf watch: records what engines show, asks policies about it, and says whether they
 * could have fired.
 *
 * Here: what was asked for, the file, what people see meanwhile. The loop is watch.c's, the
 * finding the report's. */
#include "runtime/cli/watch.h"

#include "core/error.h"
#include "core/logfile.h"
#include "runtime/analysis/report.h"
#include "runtime/cli/access.h"
#include "runtime/cli/args.h"
#include "runtime/cli/named.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_OUT        "trace.jsonl"
#define DEFAULT_FOR_NS     60000000000u
#define DEFAULT_EVERY_NS   1000000000u
#define DEFAULT_TIMEOUT_NS 5000000000u

enum { OPT_FOR = 256, OPT_EVERY, OPT_TIMEOUT, OPT_APPEND, OPT_POLICY };

static const struct adp_option options[] = {
    { 'c', "config", "FILE",
      "signals, aliases and policies of this file; its\n"
      "scrape: when no URL is given" },
    { OPT_FOR, "for", "TIME", "how long, as 90s, 10m, 1h, 1d (default 60s)" },
    { OPT_EVERY, "every", "TIME",
      "how often, 50ms to 1h (default 1s, or as in\n"
      "FILE's scrape:)" },
    { OPT_TIMEOUT, "timeout", "TIME",
      "for one page, 1ms to 1h (default 5s, or as in\n"
      "FILE's scrape:)" },
    { 'o', "output", "FILE",
      "the log (default " DEFAULT_OUT "), in folders that\n"
      "are made where missing; one that holds something\n"
      "already is refused, failures apart" },
    { OPT_APPEND, "append", NULL, "add to the log instead" },
    { OPT_POLICY, "policy", "POLICY",
      "ask it about every sample: NAME, or the path of a\n"
      ".so, and :PARAM=VALUE,... behind it; up to 8 times" },
    ADP_ACCESS_OPTIONS,
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_watch = {
    .name = "watch",
    .does = "record an engine's metrics; say whether a policy could have fired",
    .synopsis = "URL... [--for TIME] [--every TIME] [--policy POLICY]... [-o FILE]\n"
                "-c FILE [URL...] [--for TIME] [--policy POLICY]... [-o FILE]",
    .about =
        "Costs no integration: reads the page of metrics that the engine shows anyway,\n"
        "and touches no request. Start here, before anything is put into a gateway: if\n"
        "KV pressure never passes 0.44 in an hour, a policy that waits for 0.90 could\n"
        "not have fired however it was written.\n"
        "\n"
        "  http://HOST:PORT/metrics   https:// likewise; without a path, /metrics\n"
        "  unix:/SOCKET[:/PATH]       HTTP over a unix socket\n"
        "\n"
        "Each page is a sample in the log. Policies (of --policy and of FILE) are asked\n"
        "about each, one decision a sample, and obeyed by nobody: what share of the "
        "time\n"
        "they would have refused stands in the finding. Several URLs are one pool.\n"
        "\n"
        "A page that cannot be had is a line that says why, never a zero. At the end,\n"
        "and on Ctrl-C, the finding of `admitperf report FILE` is printed.",
    .options = options,
    .example =
        "admitperf watch http://127.0.0.1:8000/metrics --for 1h \\\n"
        "  --policy kv_threshold:threshold=0.9 --policy queue_depth:max_waiting=32",
    .exits =
        "0    the time is over, and there are samples\n"
        "2    bad usage, a policy or configuration that cannot be used, no sample at "
        "all,\n"
        "     a log that cannot be written\n"
        "129  stopped by SIGHUP, 130 by SIGINT, 143 by SIGTERM; the finding\n"
        "     is printed all the same",
    .run = run,
};

struct request {
    const char *config, *out;
    uint64_t for_ns, every_ns, timeout_ns; /* 0: not given */
    bool append;
    int lock;  /* the log, held; -1: not */
    bool made; /* by lock_file */
    const char *policies[ADP_CONFIG_MAX_POLICIES];
    uint32_t n_policies;
    struct adp_scrape_target as; /* what --bearer-file and the like say */
    const char *const *urls;
    size_t n_urls;
    struct adp_scrape_target targets[ADP_SCRAPE_MAX_TARGETS];
    uint32_t n_targets;
    struct adp_named named[ADP_CONFIG_MAX_POLICIES];
    struct adp_host_scene scene;
};

/* --- what was asked --- */

static bool take_time(struct adp_args *args, uint64_t lo_ns, uint64_t hi_ns,
                      const char *expected, uint64_t *ret_ns)
{
    uint64_t ns;
    if (adp_config_duration(args->value, &ns) && ns >= lo_ns && ns <= hi_ns) {
        *ret_ns = ns;
        return true;
    }
    args->exit = adp_args_wrong(args, "--%s takes %s, found \"%s\"", args->option->name,
                                expected, args->value);
    return false;
}

/* -1: taken; else what to exit with. */
static int take(struct adp_args *args, int option, struct request *r)
{
    bool fine = true;
    switch (option) {
    case 'c':
        r->config = args->value;
        break;
    case 'o':
        r->out = args->value;
        break;
    case OPT_APPEND:
        r->append = true;
        break;
    case OPT_FOR:
        fine = take_time(args, 1000000u, 366 * 86400000000000u,
                         "a time from 1ms to 366d, with its unit, such as 90s, 10m or 1h",
                         &r->for_ns);
        break;
    case OPT_EVERY:
        fine =
            take_time(args, 50000000u, 3600000000000u,
                      "a time from 50ms to 1h with its unit, such as 1s", &r->every_ns);
        break;
    case OPT_TIMEOUT:
        fine =
            take_time(args, 1000000u, 3600000000000u,
                      "a time from 1ms to 1h with its unit, such as 5s", &r->timeout_ns);
        break;
    case OPT_POLICY:
        if (r->n_policies == ADP_CONFIG_MAX_POLICIES)
            return adp_args_wrong(args, "more than %u policies", ADP_CONFIG_MAX_POLICIES);
        r->policies[r->n_policies++] = args->value;
        break;
    default:
        return adp_access_take(&r->as, option, args->value) ? -1 : args->exit;
    }
    return fine ? -1 : args->exit;
}

static int check_urls(struct adp_args *args, const struct request *r)
{
    struct adp_address at;
    const struct adp_scrape_target *as = &r->as;
    if (!r->n_urls && !r->config)
        return adp_args_wrong(args, "no page given: a URL, or -c FILE with scrape:");
    if (!r->n_urls && adp_access_is_given(as))
        return adp_args_wrong(args,
                              "tokens and certificates go with a URL; pages of FILE "
                              "have their own");
    if (r->n_urls > ADP_SCRAPE_MAX_TARGETS)
        return adp_args_wrong(args, "more than %u pages", ADP_SCRAPE_MAX_TARGETS);
    if (!as->cert_file != !as->key_file)
        return adp_args_wrong(args, "--cert-file and --key-file go together");
    for (size_t i = 0; i < r->n_urls; i++) {
        struct adp_error err = { 0 };
        if (adp_address_read(r->urls[i], &at, &err) < 0)
            /* Not shown: there may be a password in it. */
            return adp_args_wrong(args, "URL %zu: %s", i + 1, err.text);
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->urls[k], r->urls[i]) == 0)
                return adp_args_wrong(args, "%s is given twice", at.shown);
    }
    return -1;
}

static int check_policies(struct adp_args *args, struct request *r)
{
    for (uint32_t i = 0; i < r->n_policies; i++) {
        struct adp_error err = { 0 };
        if (adp_named_read(&r->named[i], r->policies[i], i, &err) < 0)
            return adp_args_wrong(args, "--policy %s: %s", r->policies[i], err.text);
    }
    return -1;
}

static int parse(struct adp_args *args, struct request *r)
{
    int wrong = -1;
    for (int o; wrong < 0 && (o = adp_args_next(args)) != ADP_ARGS_END;)
        if (o != ADP_ARGS_OPERAND)
            wrong = take(args, o, r);
    r->urls = adp_args_operands(args);
    r->n_urls = args->n_operands;
    if (wrong < 0 && !r->out[0])
        wrong = adp_args_wrong(args, "-o needs the name of a file");
    if (wrong < 0 && strcmp(r->out, "-") == 0)
        wrong = adp_args_wrong(args, "-o writes to a file, which is read again for the "
                                     "finding, and not to stdout: -o FILE (of that name: "
                                     "-o ./-)");
    if (wrong < 0)
        wrong = check_urls(args, r);
    return wrong < 0 ? check_policies(args, r) : wrong;
}

/* --- the file --- */

/* Each line of a log, ours or the Python AdmitPerf's, begins with when it was. Other JSON may
 * have any key of ours further on. */
static bool begins_as_ours(const char *line)
{
    static const char at[] = "{\"at\":";
    if (strncmp(line, at, sizeof at - 1) != 0)
        return false;
    line += sizeof at - 1;
    line += *line == ' ';
    return *line >= '0' && *line <= '9';
}

/* The first line is one of a log. */
static bool is_log(FILE *f)
{
    static const char *const keys[] = { "\"signals\"", "\"verdict\"", "\"outcome\"",
                                        "\"scrape_error\"", "\"dropped\"" };
    char *line = NULL;
    size_t cap = 0;
    bool known = false;
    ssize_t n = getline(&line, &cap, f);
    for (size_t i = 0; n > 0 && begins_as_ours(line) && i < sizeof keys / sizeof keys[0];
         i++)
        known |= strstr(line, keys[i]) != NULL;
    free(line);
    return known;
}

/* What a watch of a wrong address left behind: nothing that must not be added to. */
static bool holds_failures_only(const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    bool only = f != NULL;
    for (ssize_t n; only && (n = getline(&line, &cap, f)) > 0;)
        only = begins_as_ours(line) && line[n - 1] == '\n' &&
               strstr(line, ",\"scrape_error\":\"");
    free(line);
    if (f)
        fclose(f);
    return only;
}

static bool ends_a_line(FILE *f)
{
    return fseek(f, -1, SEEK_END) == 0 && getc(f) == '\n';
}

/* True when it may be written to; else said on stderr. */
static bool check_file(const struct request *r)
{
    struct stat st;
    if (stat(r->out, &st) < 0) {
        if (errno == ENOENT)
            return true;
        adp_say("%s: %s", r->out, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        adp_say("%s is not a file; the log goes into one: -o FILE", r->out);
        return false;
    }
    if (st.st_size == 0)
        return true;
    if (!r->append && holds_failures_only(r->out))
        return true;
    if (!r->append) {
        adp_say("%s holds something already; -o FILE writes elsewhere, --append adds to "
                "it",
                r->out);
        return false;
    }
    FILE *f = fopen(r->out, "re");
    bool log = f && is_log(f), whole = f && ends_a_line(f);
    if (!f)
        adp_say("%s: %s", r->out, strerror(errno));
    else if (!log)
        adp_say("%s is not a log, nothing is added to it; -o FILE writes elsewhere",
                r->out);
    else if (!whole)
        adp_say("%s ends in the middle of a line; `echo >>%s` ends it", r->out, r->out);
    if (f)
        fclose(f);
    return log && whole;
}

/* Opens it as the log will, with its folders. -1: said on stderr. */
static int open_file(const char *path)
{
    struct adp_logfile file;
    struct adp_error err = { 0 };
    int code = adp_logfile_init(&file, path, 0, 0, &err);
    if (code < 0)
        adp_say("%s: %s", path, err.text);
    else if ((code = adp_logfile_open(&file)) < 0)
        adp_say("%s: %s", path, adp_logfile_reason(&file, code));
    return code < 0 ? -1 : file.fd;
}

/* Keeps the file for this watch until it ends: two that are started together on a fresh one
 * both find it empty. Apart from the lock the log takes for each write. False: said on
 * stderr. --append shares. */
static bool lock_file(struct request *r)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st;
    if (r->append)
        return true;
    r->made = stat(r->out, &st) < 0;
    r->lock = open_file(r->out);
    if (r->lock < 0)
        return false;
    if (fcntl(r->lock, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES)) {
        r->made = false;
        adp_say("%s is being written by another watch; -o FILE writes elsewhere", r->out);
        return false;
    }
    return check_file(r); /* nobody's by now, or what another has left */
}

static void unlock_file(struct request *r)
{
    struct stat st;
    if (r->lock < 0)
        return;
    if (r->made && fstat(r->lock, &st) == 0 && st.st_size == 0)
        unlink(r->out); /* ours, and nothing came of it */
    close(r->lock);
    r->lock = -1;
}

/* --- the configuration --- */

static void add_target(struct request *r, const struct adp_scrape_setting *s)
{
    struct adp_scrape_target *t = &r->targets[r->n_targets++];
    *t = (struct adp_scrape_target) {
        .name = s->name,
        .url = s->url,
        .interval_ns = r->every_ns ? r->every_ns : s->interval_ns,
        .timeout_ns = r->timeout_ns ? r->timeout_ns : s->timeout_ns,
        .bearer_file = s->bearer_file,
        .ca_file = s->ca_file,
        .cert_file = s->cert_file,
        .key_file = s->key_file,
        .insecure = s->insecure,
    };
}

static void set_targets(struct request *r, const struct adp_config *config)
{
    for (size_t i = 0; i < r->n_urls; i++) {
        struct adp_scrape_target *t = &r->targets[r->n_targets++];
        *t = r->as;
        t->url = r->urls[i];
        t->interval_ns = r->every_ns ? r->every_ns : DEFAULT_EVERY_NS;
        t->timeout_ns = r->timeout_ns ? r->timeout_ns : DEFAULT_TIMEOUT_NS;
    }
    for (uint32_t i = 0; !r->n_urls && i < config->n_scrape; i++)
        if (config->scrape[i].url) /* a draft may lack it */
            add_target(r, &config->scrape[i]);
}

/* Of a pool pages are held (scrape.h), stamped with when they were measured. As long as that
 * they are no older than a signal may be, or one that misses a scrape would take the pool's
 * readings with it. */
static void hold_as_long(const struct request *r, struct adp_signals *set)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < r->n_targets; i++)
        if (r->targets[i].interval_ns > longest)
            longest = r->targets[i].interval_ns;
    uint64_t least = adp_scrape_held_ns(longest) + longest;
    for (uint32_t i = 0; r->n_targets > 1 && i < adp_signals_count(set); i++)
        if (adp_signals_age_limit(set, i) < least)
            adp_signals_max_age(set, i, least);
}

/* Behind the file's own, or, without a file, instead of what stands in for them. None is
 * enforced. */
static bool set_policies(struct request *r, struct adp_config *config)
{
    uint32_t n = r->config ? config->n_policies : 0;
    if (n + r->n_policies > ADP_CONFIG_MAX_POLICIES) {
        adp_say("%u policies in %s and %u named are more than %u", n, r->config,
                r->n_policies, ADP_CONFIG_MAX_POLICIES);
        return false;
    }
    for (uint32_t i = 0; i < r->n_policies; i++)
        config->policies[n++] = r->named[i].setting;
    if (n)
        config->n_policies = n;
    config->policies[0].enforce = 0.0;
    return true;
}

/* Everything into *ret, which borrows from `r`. Negative: said on stderr. */
static int configure(struct request *r, struct adp_config **ret, adp_errors *errors)
{
    static const char nothing[] = "version: 1\npolicy: { use: no_admission }\n";
    struct adp_config *c;
    int code = r->config ? adp_config_draft_file(&c, r->config, errors)
                         : adp_config_draft_text(&c, nothing, strlen(nothing),
                                                 "admitperf watch", NULL, errors);
    if (code < 0)
        return code;
    set_targets(r, c);
    code = set_policies(r, c) ? 0 : ADP_EINVAL;
    if (code == 0 && !r->n_targets && !errors->n) {
        adp_say("%s names no page to watch; add scrape: to it, or a URL here", r->config);
        code = ADP_EINVAL;
    }
    if (code < 0) {
        adp_config_destroy(c);
        return code;
    }
    /* What is asked about is a sample just taken: max_age is no matter of the interval. What
     * is held of a pool counts as long as it is held. */
    hold_as_long(r, c->signals);
    c->n_scrape = 0;
    c->has_scrape = c->has_serve = false;
    r->scene = (struct adp_host_scene) { .experiment = c->experiment,
                                         .run = c->run,
                                         .notes = c->notes,
                                         .disclosure_json = c->disclosure_json,
                                         .log_path = r->out,
                                         .watched = true,
                                         .undecided = !r->config && !r->n_policies };
    *ret = c;
    return 0;
}

static int open_runtime(struct request *r, adp_runtime **ret)
{
    const struct adp_host_options host = { .lanes = 1, .scene = &r->scene };
    struct adp_config *config = NULL;
    adp_errors errors = { 0 };
    int code = configure(r, &config, &errors);
    if (code == 0)
        code = adp_host_open_config_take(ret, config, &host, &errors);
    adp_named_errors(&errors, r->policies, r->n_policies);
    adp_say_errors(&errors);
    adp_errors_free(&errors);
    return code;
}

/* --- what is seen meanwhile --- */

struct view {
    const struct request *request;
    const adp_runtime *runtime;
    bool terminal;
    bool noted[ADP_SCRAPE_MAX_TARGETS + 1]; /* of each page, and of all together */
    uint32_t told[ADP_SCRAPE_MAX_TARGETS];  /* reasons that were, a bit each */
};

static void clear_line(const struct view *v)
{
    if (v->terminal)
        fputs("\r\033[K", stderr);
}

static int put_time(char *to, size_t cap, uint64_t ns)
{
    unsigned long long s = ns / 1000000000u;
    return s < 3600
               ? snprintf(to, cap, "%llu:%02llu", s / 60, s % 60)
               : snprintf(to, cap, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
}

static void show_signals(const struct view *v)
{
    static const char *const names[] = { "kv_pressure", "queue_depth", "running" };
    const struct adp_reading *readings = adp_host_readings(v->runtime);
    const struct adp_signals *set = adp_host_config(v->runtime)->signals;
    for (size_t i = 0; readings && i < sizeof names / sizeof names[0]; i++) {
        int at = adp_signals_find(set, names[i]);
        if (at >= 0 && readings[at].why == ADP_WHY_PRESENT)
            fprintf(stderr, "  %s %.3g", names[i], readings[at].value);
    }
}

static void show(void *ctx, const struct adp_watched *so_far)
{
    const struct view *v = ctx;
    char elapsed[32], whole[32];
    if (!v->terminal)
        return;
    put_time(elapsed, sizeof elapsed, so_far->elapsed_ns);
    put_time(whole, sizeof whole, v->request->for_ns);
    fprintf(stderr, "\r\033[K%s of %s  %llu samples", elapsed, whole,
            (unsigned long long)so_far->samples);
    if (so_far->failures)
        fprintf(stderr, "  %llu failed", (unsigned long long)so_far->failures);
    show_signals(v);
}

/* Each reason of each page once, also where nobody looks at the progress: a wrong address
 * should not be found out after an hour. */
static void tell_failure(void *ctx, const struct adp_scrape_failure *failure)
{
    struct view *v = ctx;
    uint32_t bit = 1u << failure->why;
    if (v->told[failure->target] & bit)
        return;
    v->told[failure->target] |= bit;
    clear_line(v);
    adp_say("%s", failure->text);
}

static void tell_note(void *ctx, uint32_t target, const struct adp_error *note)
{
    struct view *v = ctx;
    if (v->noted[target])
        return;
    v->noted[target] = true;
    clear_line(v);
    adp_say_error(note);
}

/* --- the end --- */

static void say_failures(const struct adp_watched *w)
{
    char text[512] = "";
    size_t len = 0;
    for (int i = 0; i < ADP_SCRAPE_WHYS; i++)
        if (w->why[i] && len < sizeof text)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %llu",
                                    len ? ", " : "",
                                    adp_scrape_why_word((enum adp_scrape_why)i),
                                    (unsigned long long)w->why[i]);
    if (w->failures)
        adp_say("%llu of the pages asked for could not be had: %s",
                (unsigned long long)w->failures, text);
    if (w->passed > w->slept)
        adp_say("not asked in time, since the page before had not come: %llu times",
                (unsigned long long)(w->passed - w->slept));
    if (w->slept)
        adp_say("not asked in time, since this program was held up or the machine slept: "
                "%llu times",
                (unsigned long long)w->slept);
}

static int conclude(const char *program, const struct request *r,
                    const struct adp_watched *w, int stopped)
{
    struct adp_report *report;
    struct adp_error err = { 0 };
    say_failures(w);
    if (!w->samples) {
        adp_say(w->failures || !stopped ? "there is no sample, so there is no finding"
                                        : "stopped before the first sample");
        return ADP_EXIT_BAD;
    }
    if (adp_report_read(&r->out, 1, &report, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    adp_report_print(report, stdout); /* a failure to write is seen at the end */
    adp_report_destroy(report);
    printf("\nLook further:\n  ");
    adp_say_word(stdout, program);
    printf(" report ");
    adp_say_path(stdout, r->out);
    printf("\n");
    return stopped ? 128 + stopped : ADP_EXIT_DONE;
}

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t wall_ns(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

static uint64_t mono_ns(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

/* Negative: said on stderr. */
static int watch(struct request *r, adp_runtime *runtime,
                 const volatile sig_atomic_t *stop, struct adp_watched *ret)
{
    static const struct adp_clock clock = { NULL, wall_ns, mono_ns, mono_ns };
    struct view view = { .request = r,
                         .runtime = runtime,
                         .terminal = isatty(STDERR_FILENO) == 1 };
    struct adp_watch w = { .runtime = runtime,
                           .clock = &clock,
                           .for_ns = r->for_ns,
                           .decides = r->config || r->n_policies,
                           .stop = stop,
                           .ctx = &view,
                           .on_round = show,
                           .on_failure = tell_failure,
                           .on_note = tell_note };
    const struct adp_scrape_options scrape = { .clock = &clock };
    struct adp_error err = { 0 };
    int code = adp_scraper_create(&w.scraper, r->targets, r->n_targets, &scrape, &err);
    if (code == 0)
        code = adp_runtime_start(runtime, &err);
    if (code == 0)
        code = adp_watch_run(&w, ret, &err);
    clear_line(&view);
    if (code < 0)
        adp_say_error(&err);
    adp_scraper_destroy(w.scraper);
    return code;
}

static int run_request(struct adp_args *args, struct request *r)
{
    int wrong = parse(args, r);
    if (wrong >= 0)
        return wrong;
    const volatile sig_atomic_t *stop = adp_stop_watch();
    struct adp_watched watched = { 0 };
    struct adp_error err = { 0 };
    adp_runtime *runtime = NULL;
    if (!check_file(r) || !lock_file(r) || open_runtime(r, &runtime) < 0)
        return ADP_EXIT_BAD;
    int code = watch(r, runtime, stop, &watched);
    int closed = adp_runtime_close(runtime, &err);
    if (closed < 0)
        adp_say_error(&err);
    if (code < 0 || closed < 0)
        return ADP_EXIT_BAD;
    return conclude(adp_args_program(args), r, &watched, *stop);
}

static int run(struct adp_args *args)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r) {
        adp_say("out of memory");
        return ADP_EXIT_BAD;
    }
    r->out = DEFAULT_OUT;
    r->lock = -1;
    r->for_ns = DEFAULT_FOR_NS;
    int code = run_request(args, r);
    unlock_file(r);
    free(r);
    return code;
}
