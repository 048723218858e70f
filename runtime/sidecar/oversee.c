/* SPDX-License-Identifier: MIT */
/* The sidecar's supervisor (oversee.h). */
#include "runtime/sidecar/oversee.h"

#include "core/error.h"
#include "runtime/http/listen.h"
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/notify.h"
#include "runtime/supervise/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A ring holds what comes in 15 ms at 0.9 M/s, as the host's own do. */
enum {
    RING_BYTES = 4 << 20,
    CONTROL_BYTES = 8 << 20,
    TICKETS = 4096,
    LOOK_MS = 30000,
    MOST_CONNECTIONS = 65536,
    ADDRESS = 160
};
static const uint64_t MS = 1000000u, MEMORY_BYTES = 1u << 30, DRAIN_MS = 10000;

struct overseer {
    const struct adp_oversight *o;
    struct adp_config *config;
    char log_path[PATH_MAX];
    struct adp_log_options log;
    struct adp_sockets sockets;
    char opened[ADP_MAX_SOCKETS][ADDRESS]; /* paths to take away; "": none */
    struct adp_supervisor *supervisor;
    bool served, draining, hopeless;
    uint64_t watchdog_ns, watched_ns;
};

static void say(const struct overseer *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct overseer *v, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!v->o->sidecar.say)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    v->o->sidecar.say(v->o->sidecar.ctx, text);
}

/* --- looking, apart --- */

static int look(void *ctx, int to)
{
    const struct overseer *v = ctx;
    const struct adp_sidecar_options *s = &v->o->sidecar;
    char path[PATH_MAX];
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    int code = adp_sidecar_look(s->config, path, &errors, &err);
    if (code < 0)
        v->o->say_errors(s->ctx, &errors, &err);
    adp_errors_free(&errors);
    size_t len = strlen(path);
    return code == 0 && write(to, path, len) == (ssize_t)len ? 0 : 1;
}

static int look_apart(struct overseer *v, adp_error *err)
{
    adp_error own = { 0 };
    int status = adp_apart(look, v, LOOK_MS, v->log_path, sizeof v->log_path, &own);
    if (status < 0)
        return adp_error_set(err, status, "%s: a policy %s when it was loaded",
                             v->o->sidecar.config, own.text);
    return status == 0 ? 0 : ADP_EINVAL;
}

bool adp_oversee_is_asked(const char *config)
{
    struct adp_config *c = NULL;
    adp_errors errors = { 0 };
    bool asked = adp_config_read_file(&c, config, &errors) == 0 && !c->serve.alone;
    adp_errors_free(&errors);
    adp_config_destroy(c);
    return asked;
}

/* --- what happens --- */

static void note_ready(struct overseer *v, const struct adp_news *news)
{
    if (!v->served)
        adp_sockets_say(&v->sockets, &v->o->sidecar);
    else
        say(v, "serving again, %llu ms later", (unsigned long long)news->ms);
    v->served = true;
    if (!v->draining)
        adp_notify("READY=1");
}

static void note_death(struct overseer *v, const struct adp_news *news)
{
    char how[64] = "", where[96] = "", which[96] = "";
    /* Of one that grew too large: whether it stepped down, or was killed wherever it was. */
    bool by_signal = news->cause == ADP_CAUSE_SIGNAL ||
                     (news->cause == ADP_CAUSE_MEMORY && news->detail == SIGKILL);
    const char *name = by_signal ? sigabbrev_np(news->detail) : NULL;
    if (name)
        snprintf(how, sizeof how, " (SIG%s)", name);
    else if (news->cause == ADP_CAUSE_EXIT)
        snprintf(how, sizeof how, " (status %d)", news->detail);
    if (*news->policy)
        snprintf(where, sizeof where, ", policy %s", news->policy);
    if (*news->id)
        snprintf(which, sizeof which, ", request %s", news->id);
    say(v, "the worker %s%s%s%s, after %llu ms", adp_cause_text(news->cause), how, where,
        which, (unsigned long long)news->ms);
    /* It has said why: not because of a policy, and not to be mended by another one. */
    if (news->cause == ADP_CAUSE_EXIT && !v->served && !*news->policy) {
        v->hopeless = true;
        adp_supervisor_stop(v->supervisor);
    }
}

static void note_draining(struct overseer *v, const struct adp_news *news)
{
    v->draining = true;
    adp_sockets_refuse(&v->sockets);
    adp_notify("STOPPING=1");
    if (!v->hopeless)
        say(v, "stopping; within %g s, at once if told again", (double)news->ms * 1e-3);
}

static void told(void *ctx, const struct adp_news *news)
{
    struct overseer *v = ctx;
    switch (news->what) {
    case ADP_WORKER_READY:
        note_ready(v, news);
        break;
    case ADP_WORKER_DIED:
        note_death(v, news);
        break;
    case ADP_POLICY_QUARANTINED:
        say(v,
            "policy %s is in quarantine: until a reload it is not asked, and every "
            "request is admitted",
            news->policy);
        break;
    case ADP_RESTART_DELAYED:
        say(v, "the next worker is started in %llu ms", (unsigned long long)news->ms);
        break;
    case ADP_DRAINING:
        note_draining(v, news);
        break;
    case ADP_RELOADING:
        adp_notify("RELOADING=1");
        break;
    case ADP_RELOADED:
        adp_notify("READY=1");
        break;
    default: /* a failure of the log is returned too */
        break;
    }
}

static void tick(void *ctx, uint64_t now_ns)
{
    struct overseer *v = ctx;
    if (!v->watchdog_ns || now_ns - v->watched_ns < v->watchdog_ns)
        return;
    v->watched_ns = now_ns;
    adp_notify_watchdog();
}

/* --- making it --- */

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t wall(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

static uint64_t mono(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

static const struct adp_clock machine = { NULL, wall, mono, mono };

static uint32_t threads(const struct adp_serve_setting *serve)
{
    return serve->threads ? serve->threads : 1;
}

/* Where ours are, for when the descriptors are closed already. */
static void note_paths(struct overseer *v)
{
    for (uint32_t i = 0; i < v->sockets.n; i++)
        if (v->sockets.opened[i])
            adp_http_listen_address(v->sockets.list[i].fd, v->opened[i], ADDRESS);
}

/* What the worker's sockets are for. */
static int name_sockets(const struct overseer *v, int fd[ADP_MAX_SOCKETS], adp_error *err)
{
    char kinds[ADP_MAX_SOCKETS + 1] = "";
    for (uint32_t i = 0; i < v->sockets.n; i++) {
        fd[i] = v->sockets.list[i].fd;
        kinds[i] = (char)('0' + v->sockets.list[i].kind);
    }
    return setenv(ADP_ABOVE_SOCKETS_ENV, kinds, 1) < 0
               ? adp_error_set(err, ADP_ENOMEM, "out of memory")
               : 0;
}

static bool has_spop(const struct overseer *v)
{
    for (uint32_t i = 0; i < v->sockets.n; i++)
        if (v->sockets.list[i].kind == ADP_SOCKET_SPOP)
            return true;
    return false;
}

static const struct adp_log_options *log_options(struct overseer *v)
{
    v->log = (struct adp_log_options) { .path = v->log_path,
                                        .rotate_bytes = v->config->rotate_bytes,
                                        .keep = v->config->keep,
                                        .clock = &machine };
    return *v->log_path ? &v->log : NULL;
}

static int make(struct overseer *v, adp_error *err)
{
    const struct adp_serve_setting *serve = &v->config->serve;
    uint64_t connections = (uint64_t)threads(serve) * adp_above_places(serve) +
                           (has_spop(v) ? ADP_SPOA_CONNECTIONS : 0);
    int fd[ADP_MAX_SOCKETS];
    int code = name_sockets(v, fd, err);
    if (code < 0)
        return code;
    if (connections > MOST_CONNECTIONS)
        return adp_error_set(err, ADP_EINVAL,
                             "%s: limits.connections of all threads together, %u more "
                             "for each, and %u for SPOP, are more than the %d that a "
                             "supervisor can keep",
                             v->o->sidecar.config, ADP_HTTP_SPARE, ADP_SPOA_CONNECTIONS,
                             MOST_CONNECTIONS);
    const struct adp_supervisor_options options = {
        .argv = v->o->argv,
        .program = v->o->program,
        .listeners = fd,
        .n_listeners = v->sockets.n,
        /* One for each loop, and for SPOP. */
        .shape = { threads(serve) + 1, RING_BYTES, CONTROL_BYTES, TICKETS },
        .connections = (uint32_t)connections,
        .log = log_options(v),
        .log_inline = v->config->log_inline,
        .hang_ms = (uint32_t)(serve->policy_ns / MS),
        .drain_ms = (uint32_t)(serve->drain_ns ? serve->drain_ns / MS : DRAIN_MS),
        .memory_bytes = serve->memory_bytes ? serve->memory_bytes : MEMORY_BYTES,
        .told = told,
        .tick = tick,
        .ctx = v,
    };
    char scarce[256];
    if (adp_sockets_are_scarce(connections, scarce, sizeof scarce))
        say(v, "%s", scarce);
    return adp_supervisor_create(&v->supervisor, &options, err);
}

/* Those that the supervisor did not close, with their paths; and the paths of the others. */
static void close_sockets(struct overseer *v)
{
    if (!v->draining)
        adp_sockets_close(&v->sockets);
    for (uint32_t i = 0; i < v->sockets.n; i++)
        if (v->opened[i][0])
            adp_http_listen_remove(v->opened[i],
                                   v->sockets.list[i].kind == ADP_SOCKET_OUTCOMES);
}

static int oversee(struct overseer *v, adp_error *err)
{
    const struct adp_sidecar_options *s = &v->o->sidecar;
    adp_errors errors = { 0 };
    int code = look_apart(v, err);
    if (code == 0 && (code = adp_config_read_file(&v->config, s->config, &errors)) < 0)
        v->o->say_errors(s->ctx, &errors, NULL); /* it was another a moment ago */
    adp_errors_free(&errors);
    if (code < 0) {
        for (uint32_t i = 0; i < s->n_sockets; i++)
            close(s->sockets[i].fd);
        return code;
    }
    code =
        adp_sockets_open(&v->sockets, &v->config->serve, s->sockets, s->n_sockets, err);
    if (code < 0)
        return code;
    note_paths(v);
    code = make(v, err);
    if (code == 0)
        code = adp_supervisor_run(v->supervisor, err);
    return v->hopeless ? ADP_EINVAL : code;
}

int adp_oversee(const struct adp_oversight *oversight, adp_error *err)
{
    struct overseer *v = calloc(1, sizeof *v);
    if (!v)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    v->o = oversight;
    v->watchdog_ns = adp_notify_period_ns();
    int code = oversee(v, err);
    close_sockets(v);
    adp_supervisor_destroy(v->supervisor);
    adp_config_destroy(v->config);
    free(v);
    return code;
}
