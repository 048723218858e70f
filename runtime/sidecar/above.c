/* SPDX-License-Identifier: MIT */
/* The supervisor, from the worker's side (above.h). */
#include "runtime/sidecar/above.h"

#include "core/error.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t SAVE_NS = 1000000000u;

/* No policy's name: those begin with a letter. */
static const char *const keys[] = { [ADP_ABOVE_CONFIG] = "#config",
                                    [ADP_ABOVE_SERVE] = "#serve",
                                    [ADP_ABOVE_TOKEN] = "#token" };

/* --- attaching --- */

/* What is for the supervisor alone. */
static void leave_to_it(void)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    static const char *const variables[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC",
                                             "WATCHDOG_PID" };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_IGN);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}

int adp_above_attach(struct adp_sidecar *s, adp_error *err)
{
    if (!adp_worker_is_supervised())
        return 0;
    leave_to_it();
    int code = adp_worker_attach(&s->worker, err);
    if (code < 0)
        return code;
    adp_worker_beyond(s->worker, &s->beyond);
    return 0;
}

void adp_above_detach(struct adp_sidecar *s)
{
    adp_worker_destroy(s->worker);
    s->worker = NULL;
}

int adp_above_sockets(struct adp_sidecar *s, adp_error *err)
{
    const char *kinds = getenv(ADP_ABOVE_SOCKETS_ENV);
    uint32_t n = adp_worker_listeners(s->worker);
    int code = 0;
    if (n && (!kinds || strlen(kinds) != n || strspn(kinds, "012") != n))
        return adp_error_set(err, ADP_ESTATE, "%s does not say what the sockets are for",
                             ADP_ABOVE_SOCKETS_ENV);
    for (uint32_t i = 0; code == 0 && i < n; i++) {
        const struct adp_socket socket = { adp_worker_listener(s->worker, i),
                                           (enum adp_socket_kind)(kinds[i] - '0') };
        code = adp_sockets_add_take(&s->sockets, socket, false, err);
    }
    return code;
}

uint32_t adp_above_places(const struct adp_serve_setting *serve)
{
    struct adp_http_limits limits = { .connections = serve->connections };
    adp_http_limits_settle(&limits);
    return limits.connections + ADP_HTTP_SPARE;
}

/* --- what is in force --- */

char *adp_above_kept(const struct adp_sidecar *s, enum adp_above_text what)
{
    size_t len;
    uint64_t at_ns;
    const char *text =
        s->worker ? adp_worker_saved(s->worker, keys[what], &len, &at_ns) : NULL;
    return text ? strndup(text, len) : NULL;
}

void adp_above_keep(struct adp_sidecar *s, enum adp_above_text what, const char *text)
{
    size_t len = strlen(text);
    char *to = s->worker ? adp_worker_save_begin(s->worker, keys[what], len) : NULL;
    if (!to)
        return;
    memcpy(to, text, len);
    adp_worker_save_end(s->worker, len, adp_board_now_ns());
}

bool adp_above_has_snapshot(const struct adp_sidecar *s)
{
    const struct adp_region *region = s->worker ? adp_worker_region(s->worker) : NULL;
    return region && atomic_load(adp_region_current(
                         region, atomic_load(adp_region_newest(region))));
}

/* --- connections --- */

void adp_above_stand(void *ctx, uint32_t slot, const struct adp_http_standing *standing)
{
    struct adp_loop *loop = ctx;
    const struct adp_standing now = { .fd = standing->fd,
                                      .owed = standing->owed,
                                      .note = standing->heads,
                                      .last = standing->last,
                                      .unread = standing->unread,
                                      .partly_read = standing->partly_read,
                                      .partly_written = standing->partly_written };
    loop->place = loop->first_place + slot;
    adp_worker_stand(loop->sidecar->worker, loop->place, &now);
}

bool adp_above_hold(void *ctx, uint32_t slot, const void *bytes, size_t len, bool more)
{
    struct adp_loop *loop = ctx;
    return adp_worker_hold(loop->sidecar->worker, loop->first_place + slot, bytes, len,
                           more);
}

void adp_above_owe(struct adp_loop *loop, uint32_t kind, const uint64_t note[3])
{
    static const uint64_t nothing[3];
    if (loop->sidecar->worker && !loop->adopting)
        adp_worker_owe(loop->sidecar->worker, loop->place, kind, note ? note : nothing);
}

void adp_above_owe_decision(struct adp_loop *loop, uint32_t kind,
                            struct adp_owed_manner manner, const adp_decision *d)
{
    uint64_t note[3];
    if (!loop->sidecar->worker)
        return;
    adp_owed_write(note, manner, d);
    if (!d)
        adp_owed_mark(note, loop->desk.lane);
    adp_above_owe(loop, kind, note);
}

static void answer_outcome(struct adp_loop *loop, const struct adp_http_request *request,
                           uint64_t note)
{
    if (note >= 1 && note <= ADP_FATES)
        adp_outcome_reply(loop, request->exchange, (enum adp_outcome_fate)(note - 1));
    else
        adp_refuse(loop, request, 503, "this outcome was lost when a policy failed");
}

/* As its line says; by on_error where it has none, and then it has one. */
static void answer_decision(struct adp_loop *loop, uint64_t exchange,
                            const struct adp_owed *owed, bool object)
{
    struct adp_owed_manner manner = { .gateway = ADP_GATEWAY_NATIVE };
    adp_decision d;
    bool said = owed->kind == ADP_OWED_AUTH || owed->kind == ADP_OWED_DECIDE;
    if ((!said || !adp_owed_read(owed->note, &manner, &d)) &&
        (!said || !adp_owed_told(owed->note, loop->desk.lane->region, &d))) {
        adp_owed_fault(adp_host_config(loop->sidecar->rt), &d);
        if (!said || !adp_owed_is_recorded(owed->note, &loop->sidecar->found))
            adp_host_answered(loop->desk.lane);
    }
    if (object)
        adp_decide_reply(loop, exchange, manner.always200, &d);
    else
        adp_auth_reply(loop, exchange, manner.gateway, &d);
}

/* In place of the one before. */
static void answer_owed(struct adp_loop *loop, uint64_t exchange,
                        const struct adp_owed *owed)
{
    const struct adp_http_request again = { .exchange = exchange,
                                            .method = ADP_HTTP_GET,
                                            .minor = 1 };
    uint32_t status = (uint32_t)owed->note[0];
    switch (owed->kind) {
    case ADP_OWED_UNKNOWN:
    case ADP_OWED_AUTH:
        answer_decision(loop, exchange, owed, false);
        break;
    case ADP_OWED_DECIDE:
        answer_decision(loop, exchange, owed, true);
        break;
    case ADP_OWED_OUTCOME:
        answer_outcome(loop, &again, owed->note[0]);
        break;
    case ADP_OWED_REFUSED:
        adp_refuse(loop, &again, status >= 400 && status <= 599 ? status : 503,
                   "the request was refused");
        break;
    default:
        if (adp_loop_decides(owed->kind - ADP_OWED_ENDPOINT))
            answer_decision(loop, exchange, owed, true);
        else
            adp_loop_answer_again(loop, &again, owed->kind - ADP_OWED_ENDPOINT);
    }
}

static void adopt(struct adp_loop *loop, const struct adp_held *held)
{
    uint64_t exchange[ADP_OWED_MAX];
    const struct adp_http_standing standing = { .fd = held->standing.fd,
                                                .owed = held->standing.owed,
                                                .heads = held->standing.note,
                                                .last = held->standing.last,
                                                .unread = held->standing.unread };
    if (adp_http_server_adopt_take(loop->server, &standing, held->unread, exchange) < 0)
        return; /* closed: out of memory or descriptors */
    for (uint32_t k = 0; k < standing.owed; k++)
        answer_owed(loop, exchange[k], &held->owed[k]);
}

/* Each thread ends where nothing of its connections is half done, and the last one ends us: all
 * that was decided and owed lies above, and what else is here is too large. */
static void step_down(struct adp_sidecar *s, uint32_t within_ms)
{
    atomic_store(&s->leaving, true);
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_http_server_leave(s->loop[i].server, within_ms);
    if (s->spoa)
        adp_spoa_leave(s->spoa, within_ms);
}

void adp_above_depart(void *ctx)
{
    struct adp_sidecar *s = ctx;
    if (atomic_load(&s->leaving) &&
        atomic_fetch_add(&s->departed, 1) + 1 == s->n_loops + (s->spoa ? 1 : 0))
        _exit(0);
}

static void on_word(void *ctx, int fd)
{
    struct adp_sidecar *s = ctx;
    uint32_t within_ms = 0;
    (void)fd;
    for (;;)
        switch (adp_worker_told(s->worker, &within_ms)) {
        case ADP_TELL_NOTHING:
            return;
        case ADP_TELL_DRAIN:
            adp_sidecar_stop_within(s, within_ms);
            break;
        case ADP_TELL_STEP_DOWN:
            step_down(s, within_ms);
            break;
        case ADP_TELL_RELOAD:
            adp_sidecar_reload(s);
            break;
        default: /* it has died, and what we answer nobody accounts for */
            _exit(0);
        }
}

/* HAProxy's; also when its socket is not listened on any more. */
static void adopt_spop(struct adp_sidecar *s, const struct adp_held *held)
{
    adp_decision fault;
    if (adp_sidecar_make_spoa(s, NULL) < 0) {
        close(held->standing.fd);
        return;
    }
    adp_owed_fault(adp_host_config(s->rt), &fault);
    adp_spoa_adopt_take(s->spoa, held, &fault, &s->found);
}

/* Told to stop before it began, which the answers should say. */
static void look_above(struct adp_sidecar *s)
{
    on_word(s, adp_worker_fd(s->worker));
    for (uint32_t i = 0; s->stop && i < s->n_loops; i++)
        adp_http_server_step(s->loop[i].server);
}

void adp_above_adopt(struct adp_sidecar *s)
{
    struct adp_held held;
    if (!s->worker)
        return;
    look_above(s);
    adp_owed_count(&s->found, adp_worker_region(s->worker));
    for (uint32_t i = 0; i < adp_worker_inherited(s->worker); i++) {
        struct adp_loop *loop = &s->loop[i % s->n_loops];
        if (!adp_worker_adopt(s->worker, i, &held))
            continue;
        if (adp_spoa_was(&held)) {
            adopt_spop(s, &held);
            continue;
        }
        loop->adopting = true;
        adopt(loop, &held);
        loop->adopting = false;
    }
}

/* --- life --- */

void adp_above_ready(struct adp_sidecar *s)
{
    if (s->worker)
        adp_worker_ready(s->worker);
    s->saved_ns = adp_board_now_ns();
}

void adp_above_reloading(struct adp_sidecar *s)
{
    if (s->worker)
        adp_worker_reloading(s->worker);
}

void adp_above_reloaded(struct adp_sidecar *s, bool made)
{
    if (s->worker && made)
        adp_worker_reloaded(s->worker);
    else if (s->worker)
        adp_worker_unreloaded(s->worker);
}

void adp_above_save(struct adp_sidecar *s)
{
    uint64_t now_ns = adp_board_now_ns();
    if (!s->worker || now_ns - s->saved_ns < SAVE_NS)
        return;
    s->saved_ns = now_ns;
    adp_host_save(s->rt, NULL);
}

void adp_above_beat(struct adp_loop *loop, uint64_t now_ns)
{
    if (loop->sidecar->worker)
        adp_worker_beat(loop->sidecar->worker, loop->number, now_ns);
}

int adp_above_watch(struct adp_sidecar *s, adp_error *err)
{
    int code =
        adp_http_server_watch(s->loop[0].server, adp_worker_fd(s->worker), on_word, s);
    return code < 0 ? adp_error_set(err, ADP_EIO, "%s", adp_http_error_text(code)) : 0;
}
