/* SPDX-License-Identifier: MIT */
/* admitperf signals: what a page of metrics can feed, and what it lacks.
 *
 * Here: what was asked for, and getting the pages; the account is account.c's. */
#include "core/error.h"
#include "core/history.h"
#include "core/promtext.h"
#include "runtime/analysis/account.h"
#include "runtime/cli/access.h"
#include "runtime/cli/args.h"
#include "runtime/cli/page_file.h"
#include "runtime/cli/say.h"
#include "runtime/config/config.h"
#include "runtime/scrape/left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_TIMEOUT_NS  5000000000u
#define DEFAULT_INTERVAL_NS 1000000000u
#define FIRST_NS            1000000000u /* when the first page came, on a clock of our own */

enum { OPT_TWICE = 256, OPT_INTERVAL, OPT_TIMEOUT };

static const struct adp_option options[] = {
    { 'c', "config", "FILE", "the signals, sources and aliases of this file too" },
    { OPT_TWICE, "twice", "WHEN",
      "read a second page, for what counters tell: of a\n"
      "URL so long after, as 10s; else another file" },
    { OPT_INTERVAL, "interval", "TIME",
      "time between the two files (default: what their\n"
      "timestamps say, or 1s)" },
    { OPT_TIMEOUT, "timeout", "TIME", "for a page of a URL (default 5s)" },
    ADP_ACCESS_OPTIONS,
    { 'j', "json", NULL, "for machines: one object" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_signals = {
    .name = "signals",
    .does = "say what a page of metrics can feed, and what it lacks",
    .synopsis = "[-c FILE] [--json]\n"
                "[-c FILE] [--json] PAGE|- [--twice PAGE [--interval TIME]]\n"
                "[-c FILE] [--json] URL [--twice TIME]",
    .about =
        "For each signal: its value with the source that supplied it, the series that\n"
        "were taken and left out, and its age; or why it is absent and which metric\n"
        "would feed it. Then what the page has that no signal uses. Nothing is guessed\n"
        "and nothing is 0 because it is not there.\n"
        "\n"
        "Without a page: the signals that are known, with their sources.\n"
        "\n"
        "Rates, hit rates and percentiles compare counters of two pages: --twice.\n"
        "For a page from a file, now is its newest timestamp. URLs are as in\n"
        "`admitperf watch`.",
    .options = options,
    .example = "admitperf signals http://127.0.0.1:8000/metrics --twice 10s",
    .exits = "0  the account was written, whatever is absent\n"
             "2  bad usage, a configuration or page that cannot be used",
    .run = run,
};

struct asked {
    const char *config, *page, *twice;
    bool is_url, json;
    uint64_t apart_ns; /* of a URL's pages; 0: one page */
    uint64_t interval_ns, timeout_ns;
    struct adp_scrape_target as;
};

/* --- what was asked --- */

static int bad_time(struct adp_args *args)
{
    return adp_args_wrong(
        args, "--%s takes a time above 0 with its unit, such as 10s, found \"%s\"",
        args->option->name, args->value);
}

/* -1: taken; else what to exit with. */
static int take(struct adp_args *args, int option, struct asked *ret)
{
    switch (option) {
    case 'c':
        ret->config = args->value;
        return -1;
    case 'j':
        ret->json = true;
        return -1;
    case OPT_TWICE:
        ret->twice = args->value;
        return -1;
    case OPT_INTERVAL:
        return adp_config_duration(args->value, &ret->interval_ns) && ret->interval_ns
                   ? -1
                   : bad_time(args);
    case OPT_TIMEOUT:
        return adp_config_duration(args->value, &ret->timeout_ns) && ret->timeout_ns
                   ? -1
                   : bad_time(args);
    case ADP_ARGS_OPERAND:
        if (ret->page)
            return adp_args_wrong(args, "more than one page; a later one goes behind "
                                        "--twice");
        ret->page = args->value;
        return -1;
    default:
        return adp_access_take(&ret->as, option, args->value) ? -1 : args->exit;
    }
}

static int check(struct adp_args *args, struct asked *a)
{
    struct adp_address at;
    struct adp_error err = { 0 };
    a->is_url = a->page && adp_address_is(a->page);
    if (a->twice && !a->page)
        return adp_args_wrong(args, "--twice goes with a page");
    if (a->is_url && adp_address_read(a->page, &at, &err) < 0)
        return adp_args_wrong(args, "%s", err.text);
    if (!a->is_url && adp_access_is_given(&a->as))
        return adp_args_wrong(args, "tokens and certificates go with a URL");
    if (!a->as.cert_file != !a->as.key_file)
        return adp_args_wrong(args, "--cert-file and --key-file go together");
    if (a->is_url && a->twice &&
        (!adp_config_duration(a->twice, &a->apart_ns) || a->apart_ns < 50000000u))
        return adp_args_wrong(
            args,
            "--twice takes, behind a URL, a time of at least 50ms with its unit, such "
            "as 10s, found \"%s\"",
            a->twice);
    if (a->interval_ns && (a->is_url || !a->twice))
        return adp_args_wrong(args, "--interval is the time between two files: --twice "
                                    "PAGE");
    if (!a->is_url && a->twice && strcmp(a->page, "-") == 0 && strcmp(a->twice, "-") == 0)
        return adp_args_wrong(args, "stdin can be only one of the two pages");
    return -1;
}

static int parse(struct adp_args *args, struct asked *ret)
{
    int wrong = -1;
    for (int o; wrong < 0 && (o = adp_args_next(args)) != ADP_ARGS_END;)
        wrong = o == ADP_ARGS_STOP ? args->exit : take(args, o, ret);
    return wrong < 0 ? check(args, ret) : wrong;
}

/* --- the pages --- */

struct pages {
    const struct asked *asked;
    struct adp_history *history;
    const struct adp_metrics *now;             /* the page that the account is of */
    uint64_t now_ns;                           /* on our own clock */
    double wall_s;                             /* what its timestamps are held against */
    uint32_t bad_lines, cut_lines, duplicates; /* of all that were read */
};

/* Lines that were left out are said: a signal may be absent because of them. */
static int read_text(struct pages *p, const char *name, const char *text, size_t len,
                     enum adp_promtext_format format, struct adp_error *err)
{
    struct adp_promtext_found found = { 0 };
    struct adp_metrics *to = adp_history_next(p->history);
    int code = adp_promtext_read_as(to, format, text, len, &found, err);
    if (code < 0 && err && !err->file[0])
        snprintf(err->file, sizeof err->file, "%s", name);
    const struct adp_scrape_left left = { .bad_lines = found.bad_lines,
                                          .first_bad_line = found.first_bad_line,
                                          .first_bad_column = found.first_bad_column,
                                          .first_bad_why = found.first_bad_why,
                                          .duplicates = adp_metrics_duplicates(to) };
    struct adp_error note = { 0 };
    if (code == 0 && adp_scrape_left_note(&left, &note)) {
        snprintf(note.file, sizeof note.file, "%s", name); /* apart: it is veiled */
        adp_say_error(&note);
    }
    p->now = to;
    p->bad_lines += left.bad_lines;
    p->duplicates += left.duplicates;
    return code;
}

/* The page read last is the one before from now on. */
static void keep(struct pages *p)
{
    struct adp_moment ignored;
    adp_history_look(p->history, p->now, p->now_ns, &ignored);
    adp_history_keep(p->history, p->now_ns);
}

static int read_file(struct pages *p, const char *name, struct adp_error *err)
{
    char *text = NULL;
    size_t len = 0;
    uint32_t cut = 0;
    int code = adp_page_file_read(name, &text, &len, &cut, err);
    if (code == 0 && !len) /* no engine's page; a policy may be asked with nothing */
        code = adp_error_at(err, ADP_ESYNTAX, name, 0, 0, "the page is empty");
    if (code == 0)
        code = read_text(p, name, text, len, ADP_PROMTEXT_UNSAID, err);
    p->cut_lines += cut;
    free(text);
    if (code == 0 && !adp_metrics_newest(p->now, &p->wall_s))
        p->wall_s = 0;
    return code;
}

/* How far two files are apart: as told, as their timestamps have it, or not known. Refused:
 * a second page that says it is not later. */
static int apart_ns(const struct asked *a, double before_s, double now_s, uint64_t *ret,
                    struct adp_error *err)
{
    *ret = DEFAULT_INTERVAL_NS;
    if (a->interval_ns) {
        *ret = a->interval_ns;
        return 0;
    }
    if (before_s != 0 && now_s != 0 && !(now_s > before_s))
        return adp_error_set(
            err, ADP_EINVAL,
            "%s, by its newest timestamp, is %s %s, and growth goes from "
            "the earlier page to the later; --interval TIME says how far "
            "they are apart",
            a->twice, now_s == before_s ? "as old as" : "older than", a->page);
    if (before_s != 0 && now_s != 0 && now_s - before_s < 1e9) {
        *ret = (uint64_t)((now_s - before_s) * 1e9);
        return 0;
    }
    adp_say("the pages do not say how far they are apart: rates take them as 1 s; "
            "--interval TIME says otherwise");
    return 0;
}

static int read_files(struct pages *p, struct adp_error *err)
{
    const struct asked *a = p->asked;
    int code = read_file(p, a->page, err);
    if (code < 0 || !a->twice)
        return code;
    double before_s = p->wall_s;
    keep(p);
    code = read_file(p, a->twice, err);
    uint64_t apart = 0;
    if (code == 0)
        code = apart_ns(a, before_s, p->wall_s, &apart, err);
    p->now_ns += apart;
    return code;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t mono_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int read_round(struct pages *p, struct adp_scraper *scraper, struct adp_error *err)
{
    struct adp_scrape_round round;
    while (!adp_scraper_step(scraper, UINT64_C(60000000000), &round))
        continue;
    if (!round.page)
        return adp_error_set(err, ADP_EIO, "%s", round.failures[0].text);
    p->now_ns = mono_ns();
    p->wall_s = wall_s();
    p->cut_lines += round.cut_lines;
    if (round.cut_lines)
        adp_say("%s: " ADP_LEFT_CUT, adp_scraper_name(scraper, 0), round.cut_lines);
    return read_text(p, adp_scraper_name(scraper, 0), round.page, round.len, round.format,
                     err);
}

static int read_url(struct pages *p, struct adp_error *err)
{
    const struct asked *a = p->asked;
    struct adp_scrape_target target = a->as;
    struct adp_scraper *scraper;
    target.url = a->page;
    target.timeout_ns = a->timeout_ns ? a->timeout_ns : DEFAULT_TIMEOUT_NS;
    target.interval_ns = a->apart_ns ? a->apart_ns : DEFAULT_INTERVAL_NS;
    int code = adp_scraper_create(&scraper, &target, 1, NULL, err);
    if (code < 0)
        return code;
    code = read_round(p, scraper, err);
    if (code == 0 && a->apart_ns) {
        keep(p);
        code = read_round(p, scraper, err);
    }
    adp_scraper_destroy(scraper);
    return code;
}

/* --- the answer --- */

static int answer_page(const struct asked *a, const struct adp_signals *set,
                       struct adp_error *err)
{
    struct pages p = { .asked = a, .now_ns = FIRST_NS };
    struct adp_account account = { .set = set, .twice = a->twice != NULL };
    struct adp_scratch *scratch = NULL;
    struct adp_address at = { .shown = "" };
    int code = adp_history_create(&p.history, 0);
    if (code == 0)
        code = adp_scratch_create(&scratch, ADP_PAGE_SERIES);
    if (code < 0)
        adp_error_set(err, code, "out of memory");
    if (code == 0)
        code = a->is_url ? read_url(&p, err) : read_files(&p, err);
    if (code == 0) {
        struct adp_moment moment;
        if (a->is_url)
            adp_address_read(a->page, &at, NULL);
        account.name = a->is_url ? at.shown : a->twice ? a->twice : a->page;
        account.page = p.now;
        account.bad_lines = p.bad_lines;
        account.cut_lines = p.cut_lines;
        account.duplicates = p.duplicates;
        adp_history_look(p.history, p.now, p.now_ns, &moment);
        adp_signals_read(set, &moment, p.now_ns, p.wall_s, scratch, account.reading);
        if (!a->json)
            adp_account_print(&account, stdout);
        else if ((code = adp_account_json(&account, stdout)) < 0)
            adp_error_set(err, code, "out of memory");
    }
    adp_scratch_destroy(scratch);
    adp_history_destroy(p.history);
    return code;
}

static int answer(const struct asked *a, const struct adp_signals *set,
                  struct adp_error *err)
{
    if (a->page)
        return answer_page(a, set, err);
    if (!a->json) {
        adp_account_print_set(set, stdout);
        return 0;
    }
    int code = adp_account_set_json(set, stdout);
    return code < 0 ? adp_error_set(err, code, "out of memory") : 0;
}

static int run_configured(const struct asked *a)
{
    struct adp_config *config = NULL;
    adp_errors errors = { 0 };
    struct adp_error err = { 0 };
    int code = adp_config_read_file(&config, a->config, &errors);
    adp_say_errors(&errors);
    adp_errors_free(&errors);
    if (code == 0 && (code = answer(a, config->signals, &err)) < 0)
        adp_say_error(&err);
    adp_config_destroy(config);
    return code < 0 ? ADP_EXIT_BAD : ADP_EXIT_DONE;
}

static int run(struct adp_args *args)
{
    struct asked asked = { 0 };
    struct adp_signals *set = NULL;
    struct adp_error err = { 0 };
    int wrong = parse(args, &asked);
    if (wrong >= 0)
        return wrong;
    if (asked.config)
        return run_configured(&asked);
    int code = adp_signals_create(&set, &err);
    if (code == 0)
        code = answer(&asked, set, &err);
    if (code < 0)
        adp_say_error(&err);
    adp_signals_destroy(set);
    return code < 0 ? ADP_EXIT_BAD : ADP_EXIT_DONE;
}
