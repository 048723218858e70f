/* SPDX-License-Identifier: MIT */
/* admitperf dashboard: what was recorded, in a browser. */
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/dashboard/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_OPEN = 256 };

static const struct adp_option options[] = {
    { 'l', "listen", "ADDRESS",
      "of this machine alone; default 127.0.0.1:9410, with\n"
      "port 0 any that is free" },
    { OPT_OPEN, "open", NULL, "open it in the browser, by xdg-open" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_dashboard = {
    .name = "dashboard",
    .does = "show what was recorded in a browser",
    .synopsis = "[--listen ADDRESS] [--open] [DIR]",
    .about =
        "Serves the logs below DIR (default: the current folder) to browsers on this\n"
        "machine, until it is interrupted: experiments, runs, comparisons, terms. It\n"
        "writes nothing, reads nothing but what is below DIR, and is read anew when a\n"
        "log has grown. The first line of its output is where it listens.",
    .options = options,
    .example = "admitperf dashboard --open experiments",
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
    struct sigaction action = { .sa_handler = stop };
    sigemptyset(&action.sa_mask);
    shown = dashboard;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    printf("%s\n", adp_dashboard_url(dashboard));
    fflush(stdout);
    if (browser)
        open_browser(adp_dashboard_url(dashboard));
    adp_dashboard_run(dashboard);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    shown = NULL;
    return ADP_EXIT_DONE;
}

static int run(struct adp_args *args)
{
    const char *address = "127.0.0.1:9410";
    bool browser = false;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == 'l')
            address = args->value;
        else if (o == OPT_OPEN)
            browser = true;
        else if (o != ADP_ARGS_OPERAND)
            return args->exit;
    }
    if (args->n_operands > 1)
        return adp_args_wrong(args, "takes one folder");
    /* From here on paths are those below it: what pages show, and links say. */
    const char *folder = args->n_operands ? adp_args_operands(args)[0] : ".";
    if (chdir(folder)) {
        adp_say("%s: %s", folder, strerror(errno));
        return ADP_EXIT_BAD;
    }
    struct adp_dashboard *dashboard;
    struct adp_error err = { 0 };
    if (adp_dashboard_create(&dashboard, address, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    int code = serve(dashboard, browser);
    adp_dashboard_destroy(dashboard);
    return code;
}
