/* SPDX-License-Identifier: MIT */
/* admitperf serve: the sidecar, in front of a gateway. What it does is runtime/sidecar's. */
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/sidecar/oversee.h"

#include <unistd.h>

enum { OPT_CHECK = 256, OPT_ALONE };

static const struct adp_option options[] = {
    { 'c', "config", "FILE", "policies, pages to scrape, where to listen" },
    { OPT_CHECK, "check", NULL,
      "read FILE, load its policies, say what would be\n"
      "served, and end" },
    { OPT_ALONE, "one-process", NULL,
      "without a supervisor: a policy that fails ends the\n"
      "program (serve.supervise: false says the same)" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_serve = {
    .name = "serve",
    .does = "answer gateways: nginx, HAProxy, Caddy, Envoy, Traefik, or your own",
    .synopsis = "-c FILE [--one-process]\n"
                "-c FILE --check",
    .about =
        "A gateway asks before it forwards a request, and tells afterwards how it went:\n"
        "\n"
        "  GET|POST /v1/auth      facts in headers; the answer is a status and headers\n"
        "                         (?profile=nginx, envoy: in statuses those understand)\n"
        "  POST     /v1/decide    {\"request_id\",\"facts\",\"metrics\"}; an object "
        "comes back\n"
        "  POST     /v1/outcome   {\"id\",\"status\",\"ttft_ms\",\"total_ms\",\"end\"}\n"
        "  POST     /v1/reload    reads FILE again; a bad one changes nothing\n"
        "  GET      /metrics, /healthz, /readyz\n"
        "\n"
        "Outcomes may also come as datagrams, as gateways' access logs, and HAProxy "
        "asks\n"
        "by SPOP. Ready configurations of gateways are in infra/gateways. If this "
        "program\n"
        "is not there they forward everything, unasked.\n"
        "\n"
        "A policy that crashes, hangs or eats memory ends a worker only: its supervisor "
        "has\n"
        "another answer what was asked, and keeps all records.\n"
        "\n"
        "SIGHUP reads FILE again; SIGTERM finishes what has begun and writes "
        "everything.\n"
        "Sockets that systemd opened are taken (LISTEN_FDS), and it is told when ready.",
    .options = options,
    .example = "admitperf serve -c admitperf.yaml\n"
               "curl -i -H 'X-Request-Id: r1' http://127.0.0.1:9400/v1/auth",
    .exits =
        "0  stopped by SIGTERM or SIGINT, everything is written; --check: all is well\n"
        "2  bad usage, a configuration, policy or token that cannot be used, an\n"
        "   address that cannot be listened on, a log that cannot be written",
    .run = run,
};

static void say(void *ctx, const char *text)
{
    (void)ctx;
    adp_say("%s", text);
}

static int finish(int code, adp_errors *errors, const adp_error *err)
{
    adp_say_errors(errors);
    if (err->code < 0)
        adp_say_error(err);
    adp_errors_free(errors);
    return code < 0 ? ADP_EXIT_BAD : ADP_EXIT_DONE;
}

static void say_errors(void *ctx, const adp_errors *errors, const adp_error *err)
{
    (void)ctx;
    adp_say_errors(errors);
    if (err && err->code < 0)
        adp_say_error(err);
}

/* This process is the one that decides. */
static int serve_here(const struct adp_sidecar_options *o)
{
    struct adp_sidecar *sidecar = NULL;
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    int code = adp_sidecar_create(&sidecar, o, &errors, &err);
    if (code < 0)
        return finish(code, &errors, &err);
    adp_say_errors(&errors);
    adp_errors_free(&errors);
    code = adp_sidecar_run(sidecar, &err);
    adp_sidecar_destroy(sidecar);
    return finish(code, &errors, &err);
}

/* A worker, the same program again, is the one. */
static int serve_apart(const struct adp_sidecar_options *o)
{
    const char *const argv[] = { "admitperf", "serve", "-c", o->config, NULL };
    const struct adp_oversight oversight = {
        .sidecar = *o, .say_errors = say_errors, .program = "/proc/self/exe", .argv = argv
    };
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    return finish(adp_oversee(&oversight, &err), &errors, &err);
}

static int serve(const char *config, bool alone)
{
    struct adp_socket sockets[ADP_MAX_SOCKETS];
    struct adp_sidecar_options o = { .config = config, .sockets = sockets, .say = say };
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    if (adp_sidecar_is_worker())
        return serve_here(&o);
    int code = adp_sidecar_inherit(sockets, &o.n_sockets, &err);
    if (code < 0)
        return finish(code, &errors, &err);
    return alone || !adp_oversee_is_asked(config) ? serve_here(&o) : serve_apart(&o);
}

static int check(const char *config)
{
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    int code = adp_sidecar_check(config, stdout, &errors, &err);
    return finish(code, &errors, &err);
}

static int run(struct adp_args *args)
{
    const char *config = NULL;
    bool only_check = false, alone = false;
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        switch (o) {
        case 'c':
            config = args->value;
            break;
        case OPT_CHECK:
            only_check = true;
            break;
        case OPT_ALONE:
            alone = true;
            break;
        case ADP_ARGS_OPERAND:
            return adp_args_wrong(args, "takes no operand, found \"%s\"", args->value);
        default:
            return args->exit;
        }
    }
    if (!config)
        return adp_args_wrong(args, "no configuration given: -c FILE");
    return only_check ? check(config) : serve(config, alone);
}
