/* SPDX-License-Identifier: MIT */
/* admitperf dashboard: what was recorded, in a browser. */
#include "runtime/cli/access.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"
#include "runtime/dashboard/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_OPEN = 256, OPT_LIVE };

static const struct adp_option options[] = {
    { 'l', "listen", "ADDRESS",
      "of this machine alone; default 127.0.0.1:9410, with\n"
      "port 0 any that is free" },
    { OPT_OPEN, "open", NULL, "open it in the browser, by xdg-open" },
    { OPT_LIVE, "live", "URL",
      "show what this sidecar or engine does now; up to\n"
      "8 times" },
    ADP_ACCESS_OPTIONS,
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_dashboard = {
    .name = "dashboard",
    .does = "show what was recorded in a browser",
    .synopsis = "[--listen ADDRESS] [--open] [--live URL]... [DIR]",
    .about =
        "Serves the logs below DIR (default: the current folder) to browsers on this\n"
        "machine, until it is interrupted: experiments, runs, comparisons, terms. It\n"
        "writes nothing, reads nothing but what is below DIR, and is read anew when a\n"
        "log has grown. The first line of its output is where it listens.\n"
        "\n"
        "With --live it asks that address, and no other, for its page of metrics once a\n"
        "second: decisions, refusals, signals and faults as they come. URLs are as in\n"
        "`admitperf watch`; tokens and certificates are for all of them.",
    .options = options,
    .example = "admitperf dashboard --open --live http://127.0.0.1:9400 experiments",
    .exits = "0  interrupted\n"
             "2  bad usage, no such folder, or the address cannot be listened on",
    .run = run,
};

static struct adp_dashboard *shown; /* of the signal handler */

static void stop(int number)
{
    (void)number;
    adp_dashboard_stop(shown);
}

/* The browser is nobody we wait for. */
static void open_browser(const char *url)
{
    signal(SIGCHLD, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        execlp("xdg-open", "xdg-open", url, (char *)NULL);
        _exit(127);
    }
    if (child < 0)
        adp_say("cannot start xdg-open: %s", strerror(errno));
}

static int serve(struct adp_dashboard *dashboard, bool browser)
{
    struct sigaction action = { .sa_handler = stop }, plain = { .sa_handler = SIG_DFL };
    sigemptyset(&action.sa_mask);
    shown = dashboard;
    adp_stop_take(SIGINT, &action);
    adp_stop_take(SIGTERM, &action);
    printf("%s\n", adp_dashboard_url(dashboard));
    fflush(stdout);
    if (browser)
        open_browser(adp_dashboard_url(dashboard));
    adp_dashboard_run(dashboard);
    adp_stop_take(SIGINT, &plain);
    adp_stop_take(SIGTERM, &plain);
    shown = NULL;
    return ADP_EXIT_DONE;
}

struct asked {
    const char *address, *folder;
    bool browser;
    const char *live[ADP_DASHBOARD_LIVE];
    size_t n_live;
    struct adp_scrape_target as; /* how all of them are got at */
};

/* -1: taken; else what to exit with. */
static int take(struct adp_args *args, int option, struct asked *ret)
{
    struct adp_address at;
    struct adp_error err = { 0 };
    switch (option) {
    case 'l':
        ret->address = args->value;
        return -1;
    case OPT_OPEN:
        ret->browser = true;
        return -1;
    case OPT_LIVE:
        if (adp_address_read(args->value, &at, &err) < 0)
            return adp_args_wrong(args, "%s", err.text);
        if (ret->n_live == ADP_DASHBOARD_LIVE)
            return adp_args_wrong(args, "at most %d addresses can be followed",
                                  ADP_DASHBOARD_LIVE);
        ret->live[ret->n_live++] = args->value;
        return -1;
    case ADP_ARGS_OPERAND:
        if (ret->folder)
            return adp_args_wrong(args, "takes one folder");
        ret->folder = args->value;
        return -1;
    default:
        return adp_access_take(&ret->as, option, args->value) ? -1 : args->exit;
    }
}

static int parse(struct adp_args *args, struct asked *ret)
{
    int wrong = -1;
    for (int o; wrong < 0 && (o = adp_args_next(args)) != ADP_ARGS_END;)
        wrong = o == ADP_ARGS_STOP ? args->exit : take(args, o, ret);
    if (wrong < 0 && adp_access_is_given(&ret->as) && !ret->n_live)
        return adp_args_wrong(args, "tokens and certificates go with --live");
    if (wrong < 0 && !ret->as.cert_file != !ret->as.key_file)
        return adp_args_wrong(args, "--cert-file and --key-file go together");
    return wrong;
}

/* Files that are read anew each time, by names that hold in any folder. */
static int settle(const char **name)
{
    char *whole = *name ? realpath(*name, NULL) : NULL; /* lives as long as the program */
    if (*name && !whole) {
        adp_say("%s: %s", *name, strerror(errno));
        return ADP_EXIT_BAD;
    }
    *name = whole;
    return ADP_EXIT_DONE;
}

static int settle_access(struct adp_scrape_target *as)
{
    const char **const names[] = { &as->bearer_file, &as->ca_file, &as->cert_file,
                                   &as->key_file };
    int code = ADP_EXIT_DONE;
    for (size_t i = 0; code == ADP_EXIT_DONE && i < sizeof names / sizeof *names; i++)
        code = settle(names[i]);
    return code;
}

static int show(const struct asked *asked, struct adp_dashboard *dashboard,
                struct adp_error *err)
{
    for (size_t i = 0; i < asked->n_live; i++) {
        struct adp_scrape_target target = asked->as;
        target.url = asked->live[i];
        int e = adp_dashboard_follow(dashboard, &target, err);
        if (e)
            return e;
    }
    return serve(dashboard, asked->browser);
}

static int run(struct adp_args *args)
{
    struct asked asked = { .address = "127.0.0.1:9410" };
    struct adp_dashboard *dashboard;
    struct adp_error err = { 0 };
    int code = parse(args, &asked);
    if (code >= 0)
        return code;
    code = settle_access(&asked.as);
    if (code != ADP_EXIT_DONE)
        return code;
    /* From here on paths are those below it: what pages show, and links say. */
    if (asked.folder && chdir(asked.folder)) {
        adp_say("%s: %s", asked.folder, strerror(errno));
        return ADP_EXIT_BAD;
    }
    if (adp_dashboard_create(&dashboard, asked.address, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    code = show(&asked, dashboard, &err);
    if (code < 0) {
        adp_say_error(&err);
        code = ADP_EXIT_BAD;
    }
    adp_dashboard_destroy(dashboard);
    return code;
}
